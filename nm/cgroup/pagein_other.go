//go:build !linux

package cgroup

import (
	"context"
	"errors"
)

func pageIn(context.Context, int) error { return errors.ErrUnsupported }
