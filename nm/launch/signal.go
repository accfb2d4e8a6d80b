package launch

import (
	"fmt"
	"syscall"

	"heddle/yarn/pb"
)

// signals maps the commands of signalToContainer to signals.
var signals = map[pb.SignalContainerCommand]struct {
	signal syscall.Signal
	name   string
}{
	pb.SignalContainerCommand_OUTPUT_THREAD_DUMP: {syscall.SIGQUIT, "SIGQUIT"},
	pb.SignalContainerCommand_GRACEFUL_SHUTDOWN:  {syscall.SIGTERM, "SIGTERM"},
	pb.SignalContainerCommand_FORCEFUL_SHUTDOWN:  {syscall.SIGKILL, "SIGKILL"},
}

// SignalOf returns the signal for a command of signalToContainer, and its name. It fails for an unknown command.
func SignalOf(command pb.SignalContainerCommand) (syscall.Signal, string, error) {
	s, ok := signals[command]
	if !ok {
		return 0, "", fmt.Errorf("unknown command %v", command)
	}
	return s.signal, s.name, nil
}
