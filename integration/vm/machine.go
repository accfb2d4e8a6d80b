package vm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/integration/vm/wire"
)

// Disk is a disk of a machine. They are /dev/vda, /dev/vdb, … in their order. Its file outlives the machine.
type Disk struct {
	Path string // path of its file, which is made if it doesn't exist
	Size int64  // in bytes
}

// Port is a port of this machine's loopback that leads to one of the guest's.
type Port struct{ Host, Guest int }

// Options describe a machine.
type Options struct {
	Memory  int // in MB, by default 1024
	CPUs    int // by default 2
	Disks   []Disk
	Forward []Port
	// Clock is the time at which the machine's clock starts; by default this machine's.
	Clock time.Time
}

// Machine is a running virtual machine.
type Machine struct {
	dir  string
	cmd  *exec.Cmd
	done chan struct{}
	conn net.Conn

	mu      sync.Mutex
	next    int
	waiting map[int]chan wire.Response
}

// bootLimit bounds the boot time. Without KVM and on busy processors it takes a minute.
const bootLimit = 3 * time.Minute

// Boot starts a machine, and waits until it is up. ErrUnfit means that this machine can't run any.
func Boot(ctx context.Context, o Options) (_ *Machine, err error) {
	kernel, err := Prepare(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "vm")
	if err != nil {
		return nil, err
	}
	m := &Machine{dir: dir, done: make(chan struct{}), waiting: map[int]chan wire.Response{}}
	defer func() {
		if err != nil {
			m.PowerCut()
		}
	}()
	guest, err := buildGuest(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := writeInitrd(filepath.Join(dir, "initrd"), guest, kernel); err != nil {
		return nil, err
	}
	args, err := m.args(kernel, o)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", filepath.Join(dir, "control"))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := m.start(args); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	if m.conn, err = l.Accept(); err != nil {
		return nil, fmt.Errorf("QEMU didn't start: %w\n%s", errors.Join(err, context.Cause(ctx)), m.console())
	}
	return m, m.greet(ctx)
}

func (m *Machine) args(kernel string, o Options) ([]string, error) {
	if o.Memory == 0 {
		o.Memory = 1024
	}
	if o.CPUs == 0 {
		o.CPUs = 2
	}
	in := func(name string) string { return filepath.Join(m.dir, name) }
	args := []string{
		"-m", strconv.Itoa(o.Memory), "-smp", strconv.Itoa(o.CPUs), "-accel", accelerator(), "-cpu", "max",
		"-nographic", "-nodefaults", "-no-reboot", "-kernel", filepath.Join(kernel, "vmlinuz"), "-initrd", in("initrd"),
		// On a busy machine the emulated timer may be suspended for so long that Linux takes it for broken, and panics.
		"-append", "console=ttyS0 quiet panic=-1 no_timer_check", "-serial", "file:" + in("console"), "-device", "virtio-rng-pci",
		"-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
		"-device", "virtio-serial-pci", "-chardev", "socket,id=control,path=" + in("control"),
		"-device", "virtserialport,chardev=control,name=" + wire.Port,
	}
	net := "user,id=net,restrict=on"
	for _, p := range o.Forward {
		net += fmt.Sprintf(",hostfwd=tcp:127.0.0.1:%d-:%d", p.Host, p.Guest)
	}
	args = append(args, "-netdev", net, "-device", "virtio-net-pci,netdev=net,romfile=")
	for _, d := range o.Disks {
		f, err := os.OpenFile(d.Path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		err = f.Truncate(d.Size)
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			return nil, err
		}
		args = append(args, "-drive", "file="+strings.ReplaceAll(d.Path, ",", ",,")+",format=raw,if=virtio,cache=writeback")
	}
	if !o.Clock.IsZero() {
		args = append(args, "-rtc", "base="+o.Clock.UTC().Format("2006-01-02T15:04:05"))
	}
	return args, nil
}

// accelerator returns KVM if HEDDLE_TEST_KVM asks for it. Many virtual machines offer KVM, but a guest hangs there.
func accelerator() string {
	if os.Getenv("HEDDLE_TEST_KVM") != "" {
		return "kvm"
	}
	return "tcg,thread=multi"
}

func (m *Machine) start(args []string) error {
	log, err := os.Create(filepath.Join(m.dir, "qemu"))
	if err != nil {
		return err
	}
	defer log.Close()
	m.cmd = exec.Command("qemu-system-x86_64", args...)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = attributes()
	if err := m.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = m.cmd.Wait() // it doesn't matter how it ended
		close(m.done)
		m.mu.Lock()
		defer m.mu.Unlock()
		for id, c := range m.waiting {
			close(c)
			delete(m.waiting, id)
		}
	}()
	return nil
}

// greet waits for the guest's first message, and starts reading its answers.
func (m *Machine) greet(ctx context.Context) error {
	in := json.NewDecoder(bufio.NewReader(m.conn))
	first := make(chan error, 1)
	go func() {
		var hello wire.Response
		err := in.Decode(&hello)
		if hello.Error != "" {
			err = errors.New(hello.Error)
		}
		first <- err
		for err == nil {
			var r wire.Response
			if err = in.Decode(&r); err == nil {
				m.answer(r)
			}
		}
	}()
	var err error
	select {
	case err = <-first:
	case <-m.done:
		err = errors.New("it went down")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("the virtual machine doesn't come up: %w\n%s", err, m.console())
	}
	return nil
}

func (m *Machine) answer(r wire.Response) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.waiting[r.ID]; c != nil {
		c <- r
		delete(m.waiting, r.ID)
	}
}

// console returns what the kernel and QEMU have printed.
func (m *Machine) console() string {
	var b strings.Builder
	for _, name := range []string{"console", "qemu"} {
		raw, _ := os.ReadFile(filepath.Join(m.dir, name)) // without the file there is no output
		b.Write(raw[max(0, len(raw)-4000):])
	}
	return b.String()
}

// ErrDown says that the machine went down, or that its power was cut.
var ErrDown = errors.New("the virtual machine is down")

// Run runs a script with the machine's sh, and returns what it printed. A status other than 0 is an error. Several
// scripts may run at a time.
func (m *Machine) Run(ctx context.Context, script string) (string, error) {
	c := make(chan wire.Response, 1)
	m.mu.Lock()
	m.next++
	id := m.next
	m.waiting[id] = c
	raw, err := json.Marshal(wire.Request{ID: id, Script: script})
	if err == nil {
		_, err = m.conn.Write(append(raw, '\n'))
	}
	m.mu.Unlock()
	select {
	case <-m.done:
		return "", ErrDown
	default:
	}
	if err != nil {
		return "", err
	}
	select {
	case r, ok := <-c:
		switch {
		case !ok:
			return "", ErrDown
		case r.Error != "":
			return string(r.Output), fmt.Errorf("in the virtual machine: %s: %s", script, r.Error)
		case r.Status != 0:
			return string(r.Output), fmt.Errorf("in the virtual machine: %s: status %d: %s", script, r.Status, r.Output)
		}
		return string(r.Output), nil
	case <-m.done:
		return "", ErrDown
	case <-ctx.Done():
		return "", fmt.Errorf("in the virtual machine: %s: %w", script, context.Cause(ctx))
	}
}

// PowerCut ends the machine at once. Data that isn't on a disk is lost. It may be called again.
func (m *Machine) PowerCut() {
	if m.cmd != nil && m.cmd.Process != nil {
		_ = m.cmd.Process.Kill() // it may have ended
		<-m.done
	}
	if m.conn != nil {
		_ = m.conn.Close()
	}
	_ = os.RemoveAll(m.dir)
}
