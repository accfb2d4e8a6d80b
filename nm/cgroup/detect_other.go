//go:build !linux

package cgroup

import "errors"

func look() ([]mount, membership, error) {
	return nil, nil, errors.New("this system has no cgroups")
}

func (*legacy) watch(string, func() bool) (func(), error)  { return nil, errors.ErrUnsupported }
func (*unified) watch(string, func() bool) (func(), error) { return nil, errors.ErrUnsupported }

type watching struct{}

func (*watching) close() {}
