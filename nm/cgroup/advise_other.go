//go:build !linux

package cgroup

import (
	"context"
	"errors"
)

var errEnough = errors.New("enough")

func pageIn(context.Context, int) error { return errors.ErrUnsupported }

func pageOut(context.Context, int, uint64, func() error) (uint64, error) {
	return 0, errors.ErrUnsupported
}
