package launch

import (
	"os"
	"os/exec"
	"runtime"
)

// Image is how a container is run in an image.
type Image struct {
	// Command is a program of root's that runs the container, and has its exit code. It ends when the container does.
	Command []string
	// Enter prepares the thread that starts the command, such as by giving it mounts of its own. The thread ends afterwards.
	Enter func() error
	// Logs opens the files that get the command's output and errors; nil: Spec.Output does.
	Logs func() ([]*os.File, error)
}

// imageKeeper is the keeper of a container in an image; see keeper. It is a process of root's, so that the container's can't take its descriptors.
const imageKeeper = `read -r -u 3 go || exit 0
exec 3<&-
(echo "pid $BASHPID" >&4; exec 4>&-; exec "$@")
code=$?
echo "exit $code" >&4
exit $code`

// start starts a command, on a thread that Enter has prepared if there is an image.
func (i *Image) start(cmd *exec.Cmd) error {
	if i == nil {
		return cmd.Start()
	}
	if i.Logs != nil {
		files, err := i.Logs()
		for _, f := range files {
			defer f.Close()
		}
		if err != nil {
			return err
		}
		cmd.Stdout, cmd.Stderr = files[0], files[1]
	}
	done := make(chan error, 1)
	go i.onThread(cmd, done)
	return <-done
}

// onThread never uses the process's first thread: that one can't end, and /proc/self tells of its mounts.
func (i *Image) onThread(cmd *exec.Cmd, done chan<- error) {
	runtime.LockOSThread()
	if firstThread() {
		other := make(chan error, 1)
		go i.onThread(cmd, other)
		done <- <-other
		runtime.UnlockOSThread()
		return
	}
	err := i.Enter()
	if err == nil {
		err = cmd.Start()
	}
	done <- err // and the thread ends, as it is still locked
}
