"""The pull-request comment: what a change brings and takes away, in one comment that stays in its place."""
