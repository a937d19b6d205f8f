grep -o '"trigger":"[a-z]*","compact_summary":"[^"]*"' > .hooks/seen
