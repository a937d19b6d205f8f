case $(cat) in *notes.txt*) kill -9 $$;; *) printf '{half';; esac
