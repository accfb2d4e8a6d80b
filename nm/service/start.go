package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// startContainers starts every container that it can, and lists the others with the reasons. Only a bad token ends the
// whole call.
func (s *Service) startContainers(ctx context.Context, req *pb.StartContainersRequest) (*pb.StartContainersResponse, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := tooMany(len(req.GetStartContainerRequest())); err != nil {
		return nil, err
	}
	var done []*pb.ContainerId
	var failed []*pb.ContainerExceptionMap
	for _, r := range req.GetStartContainerRequest() {
		id, err := s.containerToken(r)
		if err != nil {
			s.refused(who.Attempt.App, nil, err)
			return nil, err
		}
		name := records.ContainerIDFrom(id.GetContainerId())
		if err := s.start(who, r, id, name); err != nil {
			s.Log.WithFields(logrus.Fields{"container": name.String(), "application": name.Attempt.App.String()}).WithError(err).Info("refused to start a container")
			failed = append(failed, failure(name, err))
			s.refused(who.Attempt.App, id, err)
			continue
		}
		s.refusals.withdraw(who.Attempt.App)
		done = append(done, name.PB())
	}
	resp := &pb.StartContainersResponse{}
	metadata := s.Aux.Metadata()
	var services []*pb.StringBytesMap
	for _, service := range slices.Sorted(maps.Keys(metadata)) {
		m := &pb.StringBytesMap{}
		m.SetKey(service)
		m.SetValue(metadata[service])
		services = append(services, m)
	}
	resp.SetServicesMetaData(services)
	resp.SetSucceededRequests(done)
	resp.SetFailedRequests(failed)
	return resp, nil
}

// containerToken returns the contents of a request's checked token.
func (s *Service) containerToken(r *pb.StartContainerRequest) (*pb.ContainerTokenIdentifier, error) {
	if !r.HasContainerToken() {
		return nil, ipc.NewException(ipc.InvalidToken, "Invalid ContainerToken")
	}
	return s.Keys.Container(r.GetContainerToken())
}

// registrationGrace is how long to wait if a container's ResourceManager is unknown. The ResourceManager allocates on a
// node as soon as it has registered it. The node knows the ResourceManager's identifier only when it has the answer.
const registrationGrace = time.Second

// registeredWith reports whether the node is registered with the ResourceManager of that identifier.
func (s *Service) registeredWith(rmIdentifier int64) bool {
	if s.RMIdentifier() == rmIdentifier {
		return true
	}
	end := time.NewTimer(registrationGrace)
	defer end.Stop()
	again := time.NewTicker(registrationGrace / 100)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			if s.RMIdentifier() == rmIdentifier {
				return true
			}
		case <-end.C:
			return false
		}
	}
}

// start checks one request (Hadoop: ContainerManagerImpl.performContainerPreStartChecks), and starts the container.
func (s *Service) start(who token.NM, req *pb.StartContainerRequest, id *pb.ContainerTokenIdentifier, name records.ContainerID) error {
	if err := s.authorize(who, id, name, "start"); err != nil {
		return err
	}
	if _, err := s.Containers.Container(name); err == nil || errors.Is(err, container.ErrStoppedBefore) {
		return relaunch(name)
	}
	if !s.registeredWith(id.GetRmIdentifier()) {
		return ipc.NewException(ipc.InvalidContainer, "\nContainer %s rejected as it is allocated by a previous RM", name)
	}
	lc := req.GetContainerLaunchContext()
	if lc == nil {
		lc = &pb.ContainerLaunchContext{}
	}
	known := s.Aux.Metadata()
	for _, data := range lc.GetServiceData() {
		if _, ok := known[data.GetKey()]; ok {
			continue
		}
		message := "The auxService:" + data.GetKey() + " does not exist"
		if why := s.Aux.Lacks(data.GetKey()); why != "" {
			return ipc.NewException(ipc.InvalidAuxService, "%s: %s", message, why)
		}
		return unknownService{ipc.NewException(ipc.InvalidAuxService, "%s", message)}
	}
	if err := checkResources(lc); err != nil {
		return err
	}
	lc, err := normalized(lc)
	if err != nil {
		return err
	}
	grant, err := allocation.From(id, s.Types)
	if err != nil {
		return refusal("%v", err)
	}
	if err := s.Keys.Started(who); err != nil {
		return refusal("%v", err)
	}
	if err := s.Containers.Start(grant, lc, req.GetContainerToken().GetIdentifier()); err != nil {
		switch {
		case errors.Is(err, container.ErrExists):
			return relaunch(name)
		case errors.Is(err, container.ErrClosed):
			return refusal("Container start failed as the NodeManager is in the process of shutting down")
		}
		return refusal("%v", err)
	}
	return nil
}

func relaunch(name records.ContainerID) error {
	return relaunched{refusal("Unauthorized request to start container.\n Attempt to relaunch the same container with id %s.", name)}
}

// authorize checks that a container token belongs to the caller's application and is still valid. what is start, or
// another action's words in Hadoop's messages.
func (s *Service) authorize(who token.NM, id *pb.ContainerTokenIdentifier, name records.ContainerID, what string) error {
	begin := "Unauthorized request to start container."
	doing := "starting container with container token"
	if what != "start" {
		begin = "Unauthorized request to increase container resource."
		doing = "increasing resource of container with container token"
	}
	if name.Attempt.App != who.Attempt.App {
		return refusal("%s\nNMToken for application attempt : %s was used for %s issued for application attempt : %s",
			begin, who.Attempt, doing, name.Attempt)
	}
	if now := s.Now().UnixMilli(); id.GetExpiryTimeStamp() < now {
		return refusal("%s\nThis token is expired. current time is %d found %d\nNote: System times on machines may be out of sync. Check system time and time zones.",
			begin, now, id.GetExpiryTimeStamp())
	}
	return nil
}

// checkResources refuses local resources without a URL, type or visibility.
func checkResources(lc *pb.ContainerLaunchContext) error {
	for _, r := range lc.GetLocalResources() {
		key, value := r.GetKey(), r.GetValue()
		switch {
		case !value.HasResource():
			return refusal("Null resource URL for local resource %s : %v", key, value)
		case !value.HasType():
			return refusal("Null resource type for local resource %s : %v", key, value)
		case !value.HasVisibility():
			return refusal("Null resource visibility for local resource %s : %v", key, value)
		}
	}
	return nil
}

// normalized returns the launch context with its credentials in the form that containers read. Spark sends its whole
// buffer, with zeros after the credentials.
func normalized(lc *pb.ContainerLaunchContext) (*pb.ContainerLaunchContext, error) {
	if len(lc.GetTokens()) == 0 {
		return lc, nil
	}
	credentials, err := token.DecodeCredentials(lc.GetTokens())
	if err != nil {
		return nil, refusal("the credentials in the launch context can't be read: %v", err)
	}
	tokens, err := credentials.Encode(token.FormatWritable)
	if err != nil {
		return nil, refusal("the credentials in the launch context can't be written: %v", err)
	}
	lc = proto.CloneOf(lc)
	lc.SetTokens(tokens)
	return lc, nil
}

func (s *Service) updateContainer(ctx context.Context, req *pb.ContainerUpdateRequest) (*pb.ContainerUpdateResponse, error) {
	done, failed, err := s.update(ctx, req.GetUpdateContainerToken())
	if err != nil {
		return nil, err
	}
	resp := &pb.ContainerUpdateResponse{}
	resp.SetSucceededRequests(done)
	resp.SetFailedRequests(failed)
	return resp, nil
}

// increaseContainersResource serves updateContainer under its name in Hadoop 2.
func (s *Service) increaseContainersResource(ctx context.Context, req *pb.IncreaseContainersResourceRequest) (*pb.IncreaseContainersResourceResponse, error) {
	done, failed, err := s.update(ctx, req.GetIncreaseContainers())
	if err != nil {
		return nil, err
	}
	resp := &pb.IncreaseContainersResourceResponse{}
	resp.SetSucceededRequests(done)
	resp.SetFailedRequests(failed)
	return resp, nil
}

func (s *Service) update(ctx context.Context, tokens []*pb.Token) (done []*pb.ContainerId, failed []*pb.ContainerExceptionMap, err error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := tooMany(len(tokens)); err != nil {
		return nil, nil, err
	}
	for _, t := range tokens {
		id, err := s.Keys.Container(t)
		if err != nil {
			return nil, nil, err
		}
		name := records.ContainerIDFrom(id.GetContainerId())
		err = s.authorize(who, id, name, "update")
		if err == nil {
			err = s.Update(ctx, id, t.GetIdentifier())
		}
		if err != nil {
			failed = append(failed, failure(name, err))
			continue
		}
		done = append(done, name.PB())
	}
	return done, failed, nil
}

// Update sets a container's size and execution type as a checked token says.
func (s *Service) Update(ctx context.Context, id *pb.ContainerTokenIdentifier, identifier []byte) error {
	name := records.ContainerIDFrom(id.GetContainerId())
	c, err := s.Containers.Container(name)
	if err != nil {
		return err
	}
	grant, err := allocation.From(id, s.Types)
	if err != nil {
		return refusal("%v", err)
	}
	return c.Update(ctx, grant, identifier)
}
