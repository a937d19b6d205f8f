case $(cat) in *opus*) printf '%s' '{"decision":"block","reason":"too dear"}';; esac
