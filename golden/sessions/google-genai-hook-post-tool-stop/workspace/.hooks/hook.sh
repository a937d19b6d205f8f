echo '{"continue":false,"stopReason":"enough"}'
