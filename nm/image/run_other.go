//go:build !linux

package image

import (
	"context"
	"errors"

	"heddle/nm/image/request"
	"heddle/nm/launch"
)

// Runner runs images, which only Linux can.
type Runner struct{}

var errLinux = errors.New("images run on Linux only")

// New fails here.
func New(Config) (*Runner, error) { return nil, errLinux }

// Close does nothing here.
func (*Runner) Close() {}

// Wanted returns nil here.
func (*Runner) Wanted(map[string]string) (*request.Request, error) { return nil, nil }

// Prepare fails here.
func (*Runner) Prepare(context.Context, Start) (*launch.Image, error) { return nil, errLinux }

// Release does nothing here.
func (*Runner) Release(string) {}

// Keep does nothing here.
func (*Runner) Keep(func(string) bool) {}
