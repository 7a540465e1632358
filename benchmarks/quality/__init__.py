"""What forgetting does to recall: policies side by side on dialogues, without a language model."""
