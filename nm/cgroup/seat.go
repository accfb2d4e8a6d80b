package cgroup

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// seat is the group that a NodeManager has for itself, beside the folder of its containers' groups. It gets the CPU before these: when a container with
// dozens of processes that compute continues, the kernel may let all of them run for a while before the thread that has told it so.
const seat = "nodemanager"

// The greatest weights there are.
const (
	seatShares = "262144" // cpu.shares
	seatWeight = "10000"  // cpu.weight
)

// sit moves a process from its group to the seat, until Close. Other NodeManagers may have the same seat.
func (d *kernelHandler) sit(pid int, from string) error {
	top, file, _, _ := d.limiter.weight(0)
	if top == "" {
		return nil // groups have no weight
	}
	value := seatWeight
	if file == "cpu.shares" {
		value = seatShares
	}
	to := filepath.Join(filepath.Dir(top), seat)
	err := again(func() error {
		if err := d.tree.mkdir(to); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return errors.Join(d.tree.write(filepath.Join(to, file), value), addPid(d.tree, to, pid))
	})
	d.made, d.seated = slices.Insert(d.made, 0, to), pid
	if from != to {
		d.from = from
	}
	return err
}

func (d *kernelHandler) Unseat(pid int) error {
	if d.from == "" {
		return nil
	}
	err := d.tree.write(filepath.Join(d.from, "cgroup.procs"), strconv.Itoa(pid))
	if errors.Is(err, syscall.ESRCH) { // it has ended
		return nil
	}
	return err
}
