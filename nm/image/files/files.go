// Package files reads files about images that users and administrators name by URI, on any file system that the node reads.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"heddle/internal/bounded"
	"heddle/nm/localizer"
	"heddle/nm/sources"
)

// Locate reads a URI. One without a scheme is on the default file system.
func Locate(uri string) (at localizer.Location, err error) {
	if at, err = sources.ParseLocation(uri); err != nil {
		return at, err
	}
	if at.Path == "" || at.Path[0] != '/' {
		return at, fmt.Errorf("%.200q is no absolute path", uri)
	}
	return at, nil
}

// Open opens a file, whose reader fails when ctx ends.
func Open(ctx context.Context, s localizer.Source, by localizer.Reader, at localizer.Location) (io.ReadCloser, error) {
	if s == nil {
		return nil, errors.New("this node reads no files of other machines")
	}
	in, err := s.Open(ctx, by, at)
	if err != nil {
		return nil, err
	}
	return &closing{in, context.AfterFunc(ctx, func() { _ = in.Close() })}, nil
}

type closing struct {
	io.ReadCloser
	stop func() bool
}

func (c *closing) Close() error {
	c.stop()
	return c.ReadCloser.Close()
}

// ReadFile reads a file of at most max bytes.
func ReadFile(ctx context.Context, s localizer.Source, by localizer.Reader, at localizer.Location, max int64) ([]byte, error) {
	in, err := Open(ctx, s, by, at)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return bounded.ReadAll(in, max)
}
