"""What the web tools share: the page client, allowed addresses, HTML to text."""
