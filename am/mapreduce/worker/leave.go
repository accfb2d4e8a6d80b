package worker

import (
	"context"
	"hash/crc32"
	"io"
	"net"
	"strconv"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
	"heddle/am/mapreduce/served"
)

// leave leaves the output of a map task to the node's shuffle service, and returns the port of that; 0 if this worker must serve it. A service
// that doesn't give the first output, whatever the reason, isn't relied on: reduces would find out when the worker has gone.
func (w *worker) leave(ctx context.Context, id job.TaskID, f *lines.File) int {
	if w.shuffle == 0 {
		return 0
	}
	name := served.Name(w.attempt, id.Index, id.Attempt)
	err := served.Leave(w.locals[diskOf(id, len(w.locals))], name, f)
	if err == nil && !w.proven {
		err = w.prove(ctx, name, f)
	}
	if err != nil {
		w.log.WithError(err).Warn("the node's shuffle service can't serve outputs: this worker does")
		w.shuffle = 0
		return 0
	}
	w.proven = true
	return w.shuffle
}

// proofPatience is how long the service may take for the smallest part of an output.
const proofPatience = 10 * time.Second

// prove fetches the smallest part of an output.
func (w *worker) prove(ctx context.Context, name string, f *lines.File) error {
	least := 0
	for i, g := range f.Segments {
		if g.Length < f.Segments[least].Length {
			least = i
		}
	}
	ctx, cancel := context.WithTimeout(ctx, proofPatience)
	defer cancel()
	c := w.fetcher(1)
	defer c.HTTP.CloseIdleConnections()
	at := net.JoinHostPort(w.host, strconv.Itoa(w.shuffle))
	p, err := c.Get(ctx, at, served.Secret(w.spec.Key), w.app, name, least)
	if err != nil {
		return err
	}
	defer p.Close()
	sum := crc32.New(lines.Castagnoli)
	if _, err := io.Copy(sum, p); err != nil {
		return err
	}
	return checkSum(p, at, sum.Sum32())
}
