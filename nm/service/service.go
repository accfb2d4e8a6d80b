// Package service answers ApplicationMasters and the ResourceManager: YARN's ContainerManagementProtocol, and Heddle's
// ContainerControl, which suspends and resumes.
//
// An NM token proves for which application attempt a caller acts. To start a container, the caller needs a second
// token, which the ResourceManager has made for this container and node. A token for one application gives no access to
// containers of another.
package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/container"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// AuxServices are the services for which applications may have data.
type AuxServices interface {
	Metadata() map[string][]byte
	// Lacks returns why a well-known service is missing, or "" if there is nothing to say.
	Lacks(name string) string
}

// Options configure a Service. All must be set.
type Options struct {
	Containers *container.Manager
	Keys       *Keys
	Aux        AuxServices
	Types      records.ResourceTypes
	Node       records.NodeID
	IP         string // address of this host, for the statuses of containers

	// RMIdentifier returns the identifier of the ResourceManager with which this node is registered.
	RMIdentifier func() int64

	// SuspendTimeout bounds how long suspending or resuming a container may take.
	SuspendTimeout time.Duration
	Log            *logrus.Entry
	Now            func() time.Time
	// Changed is called when the ResourceManager should learn something at once. It must not block.
	Changed func()
}

// Service answers calls. Register it with Serve.
type Service struct {
	Options
	refusals refusals
}

// New returns a service.
func New(o Options) *Service { return &Service{Options: o} }

// Serve registers all methods with a server. The server must authenticate by tokens, with Keys as its secrets.
func (s *Service) Serve(server *ipc.Server) {
	protocol.StartContainers.Serve(server, s.startContainers)
	protocol.StopContainers.Serve(server, s.stopContainers)
	protocol.GetContainerStatuses.Serve(server, s.getContainerStatuses)
	protocol.UpdateContainer.Serve(server, s.updateContainer)
	protocol.IncreaseContainersResource.Serve(server, s.increaseContainersResource)
	protocol.SignalRunningContainer.Serve(server, s.signalToContainer)
	protocol.Localize.Serve(server, s.localize)
	protocol.GetLocalizationStatuses.Serve(server, s.getLocalizationStatuses)
	protocol.ReInitializeContainer.Serve(server, s.reInitializeContainer)
	protocol.RestartContainer.Serve(server, s.restartContainer)
	protocol.RollbackLastReInitialization.Serve(server, s.rollbackLastReInitialization)
	protocol.CommitLastReInitialization.Serve(server, s.commitLastReInitialization)
	protocol.OrderContainers.Serve(server, s.orderContainers)
	protocol.SuspendContainers.Serve(server, s.suspendContainers)
	protocol.ResumeContainers.Serve(server, s.resumeContainers)
}

// caller returns the identity of a call's sender.
func caller(ctx context.Context) (token.NM, error) {
	if call := ipc.CallFrom(ctx); call != nil {
		if id, ok := call.Identifier.(token.NM); ok {
			return id, nil
		}
	}
	return token.NM{}, ipc.NewException(ipc.InvalidToken, "Invalid NMToken")
}

// refusal returns a YarnException.
func refusal(format string, args ...any) error {
	return ipc.NewException(ipc.YarnException, format, args...)
}

// find returns a container if the caller may act on it.
func (s *Service) find(who token.NM, id records.ContainerID, what string) (*container.Container, error) {
	if id.Attempt.App != who.Attempt.App {
		s.Log.WithFields(logrus.Fields{"container": id.String(), "caller": who.Attempt.String()}).Warnf("refused to %s another application's container", what)
		return nil, refusal("%s attempted to %s non-application container : %s", who.Attempt, what, id)
	}
	return s.Containers.Container(id)
}

// maxNamed bounds the containers in a call. It exceeds the number that any node remembers at a time. It also bounds
// the cost of a call, because the response has an entry for each.
const maxNamed = 10000

// tooMany returns an error if a call names too many containers.
func tooMany(n int) error {
	if n <= maxNamed {
		return nil
	}
	return refusal("the call names %d containers, and at most %d may be named at once: call several times", n, maxNamed)
}

// maxMessage bounds the message of a failure, in bytes: it may quote the caller's input.
const maxMessage = 8 << 10

// failure returns the entry of a response for a container whose call failed.
func failure(id records.ContainerID, err error) *pb.ContainerExceptionMap {
	class := ipc.Class(err)
	if class == "" {
		class = ipc.YarnException
	}
	text := err.Error()
	if len(text) > maxMessage {
		text = text[:maxMessage] + "…"
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	e := &pb.SerializedException{}
	e.SetMessage(text)
	e.SetTrace(class + ": " + text)
	e.SetClassName(class)
	m := &pb.ContainerExceptionMap{}
	m.SetContainerId(id.PB())
	m.SetException(e)
	return m
}

// each calls f for every container that a call names.
func (s *Service) each(ctx context.Context, ids []*pb.ContainerId, what string, f func(*container.Container) error) (done []*pb.ContainerId, failed []*pb.ContainerExceptionMap, err error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := tooMany(len(ids)); err != nil {
		return nil, nil, err
	}
	for _, m := range ids {
		id := records.ContainerIDFrom(m)
		c, err := s.find(who, id, what)
		if err == nil {
			err = f(c)
		}
		if errors.Is(err, container.ErrStoppedBefore) && what == "stop" {
			err = nil // the caller wants just that
		}
		if err != nil {
			failed = append(failed, failure(id, err))
			continue
		}
		done = append(done, id.PB())
	}
	return done, failed, nil
}

func (s *Service) stopContainers(ctx context.Context, req *pb.StopContainersRequest) (*pb.StopContainersResponse, error) {
	var stopped []*container.Container
	done, failed, err := s.each(ctx, req.GetContainerId(), "stop", func(c *container.Container) error {
		c.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
		stopped = append(stopped, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.awaitSaved(ctx, stopped)
	resp := &pb.StopContainersResponse{}
	resp.SetSucceededRequests(done)
	resp.SetFailedRequests(failed)
	return resp, nil
}

// savePatience bounds how long a call that stops containers waits for the disk. They are killed anyway.
const savePatience = 5 * time.Second

// awaitSaved waits until the end of containers is on disk, but not longer than savePatience.
func (s *Service) awaitSaved(ctx context.Context, all []*container.Container) {
	ctx, cancel := context.WithTimeout(ctx, savePatience)
	defer cancel()
	for _, c := range all {
		if err := c.Saved(ctx); err != nil {
			s.Log.WithError(err).Warn("containers were stopped, but a restart of the node may lose that record")
			return
		}
	}
}

func (s *Service) getContainerStatuses(ctx context.Context, req *pb.GetContainerStatusesRequest) (*pb.GetContainerStatusesResponse, error) {
	var statuses []*pb.ContainerStatus
	_, failed, err := s.each(ctx, req.GetContainerId(), "get status for", func(c *container.Container) error {
		statuses = append(statuses, StatusPB(c.Status(), s.Types, s.Node.Host, s.IP))
		return nil
	})
	if err != nil {
		return nil, err
	}
	resp := &pb.GetContainerStatusesResponse{}
	resp.SetStatus(statuses)
	resp.SetFailedRequests(failed)
	return resp, nil
}

func (s *Service) suspendContainers(ctx context.Context, req *pb.SuspendContainersRequest) (*pb.SuspendContainersResponse, error) {
	done, failed, err := s.each(ctx, req.GetContainerId(), "suspend", func(c *container.Container) error {
		ctx, cancel := context.WithTimeout(ctx, s.SuspendTimeout)
		defer cancel()
		return c.Suspend(ctx)
	})
	if err != nil {
		return nil, err
	}
	resp := &pb.SuspendContainersResponse{}
	resp.SetSucceededRequests(done)
	resp.SetFailedRequests(failed)
	return resp, nil
}

func (s *Service) resumeContainers(ctx context.Context, req *pb.ResumeContainersRequest) (*pb.ResumeContainersResponse, error) {
	done, failed, err := s.each(ctx, req.GetContainerId(), "resume", func(c *container.Container) error {
		ctx, cancel := context.WithTimeout(ctx, s.SuspendTimeout)
		defer cancel()
		return c.Resume(ctx)
	})
	if err != nil {
		return nil, err
	}
	resp := &pb.ResumeContainersResponse{}
	resp.SetSucceededRequests(done)
	resp.SetFailedRequests(failed)
	return resp, nil
}

func (s *Service) signalToContainer(ctx context.Context, req *pb.SignalContainerRequest) (*pb.SignalContainerResponse, error) {
	_, failed, err := s.each(ctx, []*pb.ContainerId{req.GetContainerId()}, "signal", func(c *container.Container) error {
		if err := c.Signal(req.GetCommand()); !errors.Is(err, container.ErrNotRunning) {
			return err
		}
		return nil // as in Hadoop, a signal that comes too late is no error
	})
	if err != nil {
		return nil, err
	}
	if len(failed) > 0 {
		id := records.ContainerIDFrom(req.GetContainerId())
		if _, err := s.Containers.Container(id); err != nil {
			s.Log.WithField("container", id.String()).Info("got a signal for a container that is not on this node")
			return &pb.SignalContainerResponse{}, nil
		}
		return nil, refusal("%s", failed[0].GetException().GetMessage())
	}
	return &pb.SignalContainerResponse{}, nil
}

// one returns the container of a call about a single one.
func (s *Service) one(ctx context.Context, m *pb.ContainerId, what string) (*container.Container, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	id := records.ContainerIDFrom(m)
	c, err := s.find(who, id, what)
	if errors.Is(err, container.ErrUnknown) || errors.Is(err, container.ErrStoppedBefore) {
		return nil, refusal("Specified %s does not exist!", id)
	}
	return c, err
}

func (s *Service) localize(ctx context.Context, req *pb.ResourceLocalizationRequest) (*pb.ResourceLocalizationResponse, error) {
	c, err := s.one(ctx, req.GetContainerId(), "localize for")
	if err != nil {
		return nil, err
	}
	resources := make(map[string]*pb.LocalResource)
	for _, r := range req.GetLocalResources() {
		resources[r.GetKey()] = r.GetValue()
	}
	if err := c.Localize(resources); err != nil {
		return nil, refusal("%v", err)
	}
	return &pb.ResourceLocalizationResponse{}, nil
}

func (s *Service) getLocalizationStatuses(ctx context.Context, req *pb.GetLocalizationStatusesRequest) (*pb.GetLocalizationStatusesResponse, error) {
	var out []*pb.ContainerLocalizationStatuses
	_, failed, err := s.each(ctx, req.GetContainerId(), "get status for", func(c *container.Container) error {
		var statuses []*pb.LocalizationStatus
		for _, st := range c.LocalizationStatuses() {
			m := &pb.LocalizationStatus{}
			m.SetResourceKey(st.Key)
			m.SetLocalizationState(st.State)
			if st.Why != "" {
				m.SetDiagnostics(st.Why)
			}
			statuses = append(statuses, m)
		}
		m := &pb.ContainerLocalizationStatuses{}
		m.SetContainerId(c.ID().PB())
		m.SetLocalizationStatuses(statuses)
		out = append(out, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	resp := &pb.GetLocalizationStatusesResponse{}
	resp.SetCntnLocalizationStatuses(out)
	resp.SetFailedRequests(failed)
	return resp, nil
}

func (s *Service) reInitializeContainer(ctx context.Context, req *pb.ReInitializeContainerRequest) (*pb.ReInitializeContainerResponse, error) {
	c, err := s.one(ctx, req.GetContainerId(), "re-initialize")
	if err == nil {
		if req.HasContainerLaunchContext() {
			err = c.Reinitialize(req.GetContainerLaunchContext(), req.GetAutoCommit())
		} else {
			err = c.Restart()
		}
	}
	if err != nil {
		return nil, asYarn(err)
	}
	return &pb.ReInitializeContainerResponse{}, nil
}

func (s *Service) restartContainer(ctx context.Context, id *pb.ContainerId) (*pb.RestartContainerResponse, error) {
	c, err := s.one(ctx, id, "restart")
	if err == nil {
		err = c.Restart()
	}
	if err != nil {
		return nil, asYarn(err)
	}
	return &pb.RestartContainerResponse{}, nil
}

func (s *Service) rollbackLastReInitialization(ctx context.Context, id *pb.ContainerId) (*pb.RollbackResponse, error) {
	c, err := s.one(ctx, id, "roll back")
	if err == nil {
		err = c.Rollback()
	}
	if err != nil {
		return nil, asYarn(err)
	}
	return &pb.RollbackResponse{}, nil
}

func (s *Service) commitLastReInitialization(ctx context.Context, id *pb.ContainerId) (*pb.CommitResponse, error) {
	c, err := s.one(ctx, id, "commit")
	if err == nil {
		err = c.Commit()
	}
	if err != nil {
		return nil, asYarn(err)
	}
	return &pb.CommitResponse{}, nil
}

// asYarn turns any error that is no exception yet into a YarnException.
func asYarn(err error) error {
	if ipc.Class(err) != "" {
		return err
	}
	return fmt.Errorf("%w", ipc.NewException(ipc.YarnException, "%v", err))
}
