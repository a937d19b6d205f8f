grep -o '"trigger":"[a-z]*","compact_summary"\|The user is called Ume' > .hooks/seen
