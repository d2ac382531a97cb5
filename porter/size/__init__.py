"""How many GPUs a model needs: weights, KV cache, reserve, and what one server of each kind holds."""
