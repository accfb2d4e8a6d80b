// Package ondemand keeps one JVM, which starts with the first call, and again after it was lost.
package ondemand

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/hdfsadapter/javafs"
	"heddle/hdfsadapter/jvm"
)

// Daemon says how a JVM runs that works for a ResourceManager, whose program begins as jvm/java/Daemon.java does.
type Daemon struct {
	JVM        func() (jvm.Config, error) // without a folder
	Properties []string                   // keys and values in turn, which replace those of the files
	Host       string                     // for _HOST in the principal
}

const heapMB = 256

// Of returns how it runs for a ResourceManager on a host.
func Of(c *conf.Config, host string, log *logrus.Entry) Daemon {
	return Daemon{
		Properties: javaservices.Properties(c), Host: host,
		JVM: func() (jvm.Config, error) {
			s, err := javaservices.Runtime(c, environ.Of(c.Dir(), os.LookupEnv))
			cfg := jvm.Of(c, s)
			cfg.JavaOptions = append([]string{"-XX:+UseSerialGC"}, s.Options...)
			cfg.HeapMB, cfg.Log = heapMB, log
			return cfg, err
		},
	}
}

// hello is the first operation of each program.
const hello = 1

// Config says which JVM it is.
type Config struct {
	Daemon
	Main  string        // the program of the jar
	What  string        // "the JVM that …", for errors
	Limit time.Duration // for the start
}

// JVM is a JVM. Call and Close are called by one goroutine.
type JVM struct {
	cfg Config
	dir string // "": not made yet

	mu sync.Mutex
	j  *jvm.Process // nil: there is none
}

// New returns one that hasn't started.
func New(cfg Config) *JVM { return &JVM{cfg: cfg} }

// Call calls the JVM. A *jvm.Refused is an exception of what was called; after any other error, as after ctx ends, there is no JVM, and the next call starts another.
func (o *JVM) Call(ctx context.Context, op byte, args []byte, limit time.Duration) ([]byte, error) {
	j, err := o.process(ctx)
	if err != nil {
		return nil, err
	}
	return o.call(ctx, j, op, args, limit)
}

// process returns the JVM that runs, or another one.
func (o *JVM) process(ctx context.Context) (*jvm.Process, error) {
	if o.j != nil {
		return o.j, nil
	}
	if o.dir == "" {
		dir, err := javafs.NewFolder()
		if err != nil {
			return nil, err
		}
		o.dir = dir
	}
	cfg, err := o.cfg.JVM()
	if err != nil {
		return nil, err
	}
	cfg.Dir = o.dir
	jar, err := jvm.WriteJar(o.dir)
	if err != nil {
		return nil, err
	}
	j, err := cfg.Start(jar, o.cfg.Main)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.j = j
	o.mu.Unlock()
	var m jvm.Message
	m.Texts(o.cfg.Properties).Text(o.cfg.Host)
	if _, err := o.call(ctx, j, hello, m.B, o.cfg.Limit); err != nil {
		o.kill()
		return nil, fmt.Errorf("start %s: %w", o.cfg.What, err)
	}
	return j, nil
}

func (o *JVM) call(ctx context.Context, j *jvm.Process, op byte, args []byte, limit time.Duration) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { j.Signal(syscall.SIGKILL) })()
	results, err := j.Call(op, args, limit)
	var refused *jvm.Refused
	if err == nil || errors.As(err, &refused) {
		return results, err
	}
	o.kill()
	return nil, fmt.Errorf("%s: %w", o.cfg.What, err)
}

func (o *JVM) kill() {
	o.mu.Lock()
	j := o.j
	o.j = nil
	o.mu.Unlock()
	if j != nil {
		j.Kill()
	}
}

// PID returns the number of the JVM's process; 0: there is none. Any goroutine may call it.
func (o *JVM) PID() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.j == nil {
		return 0
	}
	return o.j.PID
}

// Close has the program quit by a request, within a limit, and ends the JVM.
func (o *JVM) Close(quit byte, limit time.Duration) {
	if j := o.j; j != nil {
		if _, err := j.Call(quit, nil, limit); err == nil {
			j.Wait(limit)
		}
		o.kill()
	}
	if o.dir != "" {
		_ = os.RemoveAll(o.dir) // it has a jar and a lock
	}
}
