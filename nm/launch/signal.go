package launch

import (
	"fmt"
	"syscall"

	"heddle/yarn/pb"
)

// signals are what the commands of signalToContainer stand for.
var signals = map[pb.SignalContainerCommand]struct {
	signal syscall.Signal
	name   string
}{
	pb.SignalContainerCommand_OUTPUT_THREAD_DUMP: {syscall.SIGQUIT, "SIGQUIT"},
	pb.SignalContainerCommand_GRACEFUL_SHUTDOWN:  {syscall.SIGTERM, "SIGTERM"},
	pb.SignalContainerCommand_FORCEFUL_SHUTDOWN:  {syscall.SIGKILL, "SIGKILL"},
}

// SignalOf returns the signal that a command of signalToContainer stands for, with its name.
func SignalOf(command pb.SignalContainerCommand) (syscall.Signal, string, error) {
	s, ok := signals[command]
	if !ok {
		return 0, "", fmt.Errorf("unknown command %v", command)
	}
	return s.signal, s.name, nil
}
