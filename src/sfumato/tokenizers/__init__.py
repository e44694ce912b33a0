"""Text to tokens and back: byte-level BPE from public text, and the tokenizers of loaded models."""
