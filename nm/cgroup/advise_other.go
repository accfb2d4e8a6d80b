//go:build !linux

package cgroup

import (
	"context"
	"errors"
)

var errEnough = errors.New("enough")

func pageIn(context.Context, int) error { return errors.ErrUnsupported }

func pageOut(context.Context, int, func() error) error { return errors.ErrUnsupported }
