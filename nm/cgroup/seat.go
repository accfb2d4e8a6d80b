package cgroup

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
)

// seat is the group that a NodeManager has for itself, beside the folder of its containers' groups. It gets the CPU before these: when a container with
// dozens of processes that compute goes on, the kernel may let all of them run for a while before the thread that has told it so.
const seat = "nodemanager"

// The greatest weights there are.
const (
	seatShares = "262144" // cpu.shares
	seatWeight = "10000"  // cpu.weight
)

// sit moves a process from its group to the seat, until Close. Other NodeManagers may have the same seat.
func (d *kernelDriver) sit(pid int, from string) error {
	top, file, _, _ := d.limiter.weight(0)
	if top == "" {
		return nil // groups have no weight
	}
	value := seatWeight
	if file == "cpu.shares" {
		value = seatShares
	}
	to := filepath.Join(filepath.Dir(top), seat)
	err := error(fs.ErrNotExist)
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < 100; tries++ { // another NodeManager that ends takes away what is empty
		if err = d.tree.mkdir(to); err == nil || errors.Is(err, fs.ErrExist) {
			err = errors.Join(d.tree.write(filepath.Join(to, file), value), addPid(d.tree, to, pid))
		}
	}
	d.made = slices.Insert(d.made, 0, to)
	if from != to {
		d.leave = func() { _ = d.tree.write(filepath.Join(from, "cgroup.procs"), strconv.Itoa(pid)) }
	}
	return err
}
