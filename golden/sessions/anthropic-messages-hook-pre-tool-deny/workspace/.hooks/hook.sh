echo 'notes are private' >&2; exit 2
