"""From episodes to training formats; one contract: plan, write shard, merge, verify."""
