echo 'the build is green'
