"""Chat completions, as OpenAI and very many others speak them."""
