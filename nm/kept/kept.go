// Package kept is what of a container outlives its NodeManager: two records in the store, the request that started it and
// how far it is.
//
// A record that makes no sense concerns its container alone. Load returns that container with the reason (Damage), so that
// it can be ended and reported, and all others as they are.
package kept

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/nm/allocation"
	"heddle/nm/gpu"
	"heddle/nm/proc"
	"heddle/nm/suspend"
	"heddle/nm/workdir"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Suffixes of a container's keys in the store.
const (
	RequestKey = "/request" // a StartContainerRequest: launch context and, as its token's identifier, the grant
	RecordKey  = "/record"
)

// Record has the state of a container that is kept besides its request.
type Record struct {
	Started     int64          `json:"started"` // ms since 1970, when it was accepted
	Localized   int64          `json:"localized,omitempty"`
	Cold        bool           `json:"cold,omitempty"` // some of its files had to be fetched
	Launched    int64          `json:"launched,omitempty"`
	Finished    int64          `json:"finished,omitempty"`
	Boot        string         `json:"boot,omitempty"`  // the run of the machine that Keeper belongs to
	Keeper      proc.ID        `json:"keeper,omitzero"` // zero: a process is to be started. Those that are left of an earlier one are to end
	Places      workdir.Places `json:"places,omitzero"`
	Kill        *Kill          `json:"kill,omitempty"`
	ExitCode    int            `json:"exit"`
	Complete    bool           `json:"complete,omitempty"`
	Diagnostics string         `json:"diagnostics,omitempty"`
	suspend.Wishes
	Yielded    bool    `json:"yielded,omitempty"`    // it is suspended to make way for guaranteed containers
	Retries    int     `json:"retries,omitempty"`    // made so far
	RetryTimes []int64 `json:"retryTimes,omitempty"` // of retries within the validity interval, ms since 1970
	Peak       int64   `json:"peak,omitempty"`
	Starved    int64   `json:"starved,omitempty"` // ms in which it could have run and had no processor (cgroup.Usage)

	GPUs  []gpu.Device `json:"gpus,omitempty"`  // nil until it has those that it will have
	Image bool         `json:"image,omitempty"` // its process was started in an image
}

// Holds returns what a container of a size is to hold, on a node that can take memory back or can't: there one that makes way counts for nothing.
func (r *Record) Holds(size records.Resource, reclaim bool) records.Resource {
	wanted := r.Wanted(size, reclaim)
	if r.Yielded && wanted.Level == suspend.Frozen {
		return records.Resource{}
	}
	return wanted.Held
}

// Kill is the reason of a container's kill.
type Kill struct {
	ExitCode int    `json:"exit"`
	Why      string `json:"why"`
}

// Container is a container as the store has it.
type Container struct {
	Grant   allocation.Grant
	Token   []byte // the identifier of the newest token
	Context *pb.ContainerLaunchContext
	Record  Record

	// Damage says why the records are invalid; nil if they are valid. Then Grant may have nothing but the id.
	Damage error
}

// Records are where the records lie (nm/store).
type Records interface {
	Delete(key string) error
	ForEach(prefix string, f func(key string, value []byte) error) error
}

// Request encodes what a container was started with. Only the token's identifier is needed again: the token has been
// verified.
func Request(context *pb.ContainerLaunchContext, token []byte) ([]byte, error) {
	req := &pb.StartContainerRequest{}
	req.SetContainerLaunchContext(context)
	t := &pb.Token{}
	t.SetIdentifier(token)
	t.SetPassword([]byte{})
	t.SetKind("")
	t.SetService("")
	req.SetContainerToken(t)
	return proto.Marshal(req)
}

// Load reads all containers. It removes records of containers that were never accepted or are no longer known, and those
// whose key isn't one of a container.
func Load(from Records, types records.ResourceTypes, log *logrus.Entry) ([]Container, error) {
	all := map[records.ContainerID]*Container{}
	asked, recorded := map[records.ContainerID]bool{}, map[records.ContainerID]bool{}
	var drop []string
	err := from.ForEach("", func(key string, value []byte) error {
		id, suffix, err := splitKey(key)
		if err != nil {
			log.WithError(err).Error("removing a record of the state that belongs to no container")
			drop = append(drop, key)
			return nil
		}
		c := all[id]
		if c == nil {
			c = &Container{Grant: allocation.Grant{ID: id}}
			all[id] = c
		}
		if suffix == RequestKey {
			asked[id] = true
			err = c.parseRequest(value, types)
		} else {
			recorded[id] = true
			err = json.Unmarshal(value, &c.Record)
		}
		if err != nil {
			c.Damage = errors.Join(c.Damage, fmt.Errorf("%s: %w", key, err))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recover containers: %w", err)
	}
	var out []Container
	for id, c := range all {
		switch {
		case !recorded[id]:
			// The last life ended between the two writes, before the container was accepted.
			log.WithField("container", id.String()).Info("dropping a container that was never accepted")
			drop = append(drop, id.String()+RequestKey)
		case !asked[id]:
			// The last life ended between the two removals.
			drop = append(drop, id.String()+RecordKey)
		default:
			out = append(out, *c)
		}
	}
	for _, key := range drop {
		if err := from.Delete(key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// splitKey returns the container of a key, which must be the very key that its id gives: no end of a container removes
// another one.
func splitKey(key string) (id records.ContainerID, suffix string, err error) {
	for _, suffix := range []string{RequestKey, RecordKey} {
		if name, ok := strings.CutSuffix(key, suffix); ok {
			id, err := records.ParseContainerID(name)
			if err == nil && id.String() != name {
				err = fmt.Errorf("%q is written %s", name, id)
			}
			return id, suffix, err
		}
	}
	return id, "", fmt.Errorf("key %q is not one of a container", key)
}

// parseRequest reads a container's request, unless it is another container's.
func (c *Container) parseRequest(b []byte, types records.ResourceTypes) error {
	var req pb.StartContainerRequest
	if err := proto.Unmarshal(b, &req); err != nil {
		return err
	}
	var id pb.ContainerTokenIdentifier
	token := req.GetContainerToken().GetIdentifier()
	if err := proto.Unmarshal(token, &id); err != nil {
		return err
	}
	grant, err := allocation.From(&id, types)
	if err != nil {
		return err
	}
	if grant.ID != c.Grant.ID {
		return fmt.Errorf("it is the request of %s", grant.ID)
	}
	c.Grant, c.Token, c.Context = grant, token, req.GetContainerLaunchContext()
	return nil
}
