//go:build !linux

package cgroup

import "errors"

func (*legacy) watch(string, func() bool) (func(), error)  { return nil, errors.ErrUnsupported }
func (*unified) watch(string, func() bool) (func(), error) { return nil, errors.ErrUnsupported }

type watching struct{}

func (*watching) close() {}
