package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"heddle/nm/kept"
)

// saveRequest keeps what the container was started with. It is called again when that changes.
func (c *Container) saveRequest() error {
	c.mu.Lock()
	saved := c.beginRequest()
	c.mu.Unlock()
	return <-saved
}

// beginRequest queues request and record for the store, which gets both or neither. The channel that it returns gets the
// outcome. The lock is held, so that they get there in the order in which they change.
func (c *Container) beginRequest() <-chan error {
	request, err := kept.Request(c.context, c.token)
	record, err2 := json.Marshal(&c.record)
	if err = errors.Join(err, err2); err != nil {
		return outcome(fmt.Errorf("container %s: %w", c.ID(), err))
	}
	if c.forgotten {
		return outcome(nil)
	}
	id := c.ID().String()
	return c.m.ContainerRecords.BeginAll(map[string][]byte{id + kept.RequestKey: request, id + kept.RecordKey: record})
}

// begin queues the record for the store, as beginRequest does. The lock is held.
func (c *Container) begin() <-chan error {
	if c.forgotten {
		return outcome(nil)
	}
	b, err := json.Marshal(&c.record)
	if err != nil {
		return outcome(fmt.Errorf("container %s: %w", c.ID(), err))
	}
	return c.m.ContainerRecords.Begin(c.ID().String()+kept.RecordKey, b)
}

// beginLocked is begin for callers that don't hold the lock.
func (c *Container) beginLocked() <-chan error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin()
}

// outcome returns the outcome of a finished write.
func outcome(err error) <-chan error {
	done := make(chan error, 1)
	done <- err
	return done
}

// Saved returns when what has happened to the container is on disk, or with an error.
func (c *Container) Saved(ctx context.Context) error {
	select {
	case err := <-c.beginLocked():
		return err
	case <-ctx.Done():
		return fmt.Errorf("note down the state of container %s: %w", c.ID(), ctx.Err())
	}
}

// save keeps the record where nothing can be done about a failure: the container goes its way, and after a restart is
// taken up where it was last noted to be. It waits for the disk.
func (c life) save() { report(c.log, <-c.beginLocked()) }

// logged logs a failed write, for callers that must not wait for a disk.
func (c *Container) logged(saved <-chan error) {
	go func() { report(c.log, <-saved) }()
}

func report(log *logrus.Entry, err error) {
	if err != nil {
		log.WithError(err).Error("could not note down the container's state")
	}
}

// forget removes the container from the store, for good and without waiting for it.
func (c *Container) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = true
	for _, suffix := range []string{kept.RecordKey, kept.RequestKey} {
		c.logged(c.m.ContainerRecords.BeginDelete(c.ID().String() + suffix))
	}
}
