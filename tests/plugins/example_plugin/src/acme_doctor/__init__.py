"""What is at fault on the machines of Acme."""
