if grep -q '"stop_hook_active":false'; then echo 'run the tests' >&2; exit 2; fi
