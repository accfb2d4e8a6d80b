package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.heddle, "heddle", "bin/heddle", "the binary to show")
	flag.StringVar(&o.input, "input", "", "folder with Go files whose words to count (default: the Go standard library's source)")
	flag.BoolVar(&o.keep, "keep", false, "leave the cluster running")
	end := flag.Bool("stop", false, "stop the cluster that an earlier run left running")
	flag.Parse()
	err := error(nil)
	if *end {
		err = stopKept(os.Stdout)
	} else {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

type options struct {
	heddle, input string
	keep          bool
}

// prepare makes the options' paths absolute, and checks that they exist.
func (o *options) prepare() error {
	if o.input == "" {
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("ask Go where its source is: %w", err)
		}
		o.input = filepath.Join(strings.TrimSpace(string(root)), "src")
	}
	for _, p := range []*string{&o.heddle, &o.input} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		if _, err := os.Stat(abs); err != nil {
			return err
		}
		*p = abs
	}
	return nil
}

// run runs the whole demo.
func run(ctx context.Context, o options) (err error) {
	if err := o.prepare(); err != nil {
		return err
	}
	if err := refuseSecond(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "heddle-demo-")
	if err != nil {
		return err
	}
	// Containers run as the submitting user, who must be able to reach shared files.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	c, err := newCluster(o, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() {
		if err != nil || !o.keep {
			if err != nil {
				fmt.Fprintln(os.Stderr, c.Tails(2000))
			}
			err = errors.Join(err, c.stop(), os.RemoveAll(dir))
		}
	}()
	if err := c.start(ctx); err != nil {
		return err
	}
	if err := c.show(ctx, o.input); err != nil {
		return err
	}
	if err := c.showSuspension(ctx); err != nil {
		return err
	}
	if o.keep {
		return c.keep(ctx, os.Stdout)
	}
	return nil
}
