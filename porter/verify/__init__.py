"""Verification: what compilers say of the translated code, file by file, and which finding predicted what they complain about."""
