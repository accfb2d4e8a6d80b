package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"heddle/integration/vm/wire"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, "guest:", err)
		}
		os.Exit(1)
	}
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: this runs in virtual machines only")
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "guest:", boot())
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// boot sets the machine up, starts the server process, and reaps every orphan. It returns the reason for its end.
func boot() error {
	if err := build(); err != nil {
		return err
	}
	p, err := os.StartProcess("/init.vm", []string{"init.vm", "serve"}, &os.ProcAttr{
		Env:   []string{"HOME=/root", "TERM=dumb", "PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return err
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid == p.Pid {
			return fmt.Errorf("the server process has ended: %w", err)
		}
	}
}

// serve runs each script as it arrives.
func serve() error {
	port, err := openPort()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	out := json.NewEncoder(port)
	say := func(r wire.Response) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(r) // the error can't be reported
	}
	say(wire.Response{})
	in := json.NewDecoder(port)
	for {
		var req wire.Request
		if err := in.Decode(&req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		go func() { say(run(req)) }()
	}
}

// openPort opens the port by its name, which appears some time after its driver has been loaded.
func openPort() (*os.File, error) {
	for range 500 {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if raw, err := os.ReadFile(n); err == nil && strings.TrimSpace(string(raw)) == wire.Port {
				return os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(n))), os.O_RDWR, 0)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errors.New("the machine has no serial port called " + wire.Port)
}

func run(req wire.Request) wire.Response {
	cmd := exec.Command("/bin/sh", "-c", req.Script)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // processes that it leaves behind may keep its output open
	out, err := cmd.CombinedOutput()
	r := wire.Response{ID: req.ID, Output: out}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		if r.Status = exit.ExitCode(); r.Status < 0 {
			r.Error = exit.String()
		}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		r.Error = err.Error()
	}
	return r
}
