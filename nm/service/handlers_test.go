package service

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/nm/allocation"
	"heddle/nm/application"
	"heddle/nm/container"
	"heddle/nm/disks"
	"heddle/nm/enclosure"
	"heddle/nm/localizer"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// nothing is all that a Manager works with, and does nothing: its containers fail as soon as they are prepared.
type nothing struct{ container.Localizer }

var errNothing = errors.New("nothing is localized here")

func (nothing) InitApplication(string, records.ApplicationID) ([]string, error) {
	return nil, errNothing
}

func (nothing) Localize(context.Context, localizer.Request) (localizer.Result, error) {
	return localizer.Result{}, errNothing
}
func (nothing) Release(records.ContainerID)                                    {}
func (nothing) StartApplication(application.Info) error                        { return nil }
func (nothing) ContainerStarted(allocation.Grant)                              {}
func (nothing) ContainerFinished(allocation.Grant, int)                        {}
func (nothing) FinishApplication(context.Context, records.ApplicationID) error { return nil }
func (nothing) Delete(...string) error                                         { return nil }
func (nothing) DeleteNow(...string) error                                      { return nil }

type noAux struct{}

func (noAux) Metadata() map[string][]byte { return map[string][]byte{"mapreduce_shuffle": {1}} }

func (noAux) Lacks(string) string             { return "it isn't there" }
func (noAux) StartContainer(allocation.Grant) {}
func (noAux) StopContainer(allocation.Grant)  {}

func (noAux) StartApplication(context.Context, string, records.ApplicationID, string, []byte) {}
func (noAux) StopApplication(records.ApplicationID)                                           {}

// forgetful is a Bucket that keeps nothing.
type forgetful struct{}

func (forgetful) Begin(string, []byte) <-chan error                { return all() }
func (forgetful) BeginAll(map[string][]byte) <-chan error          { return all() }
func (forgetful) BeginDelete(string) <-chan error                  { return all() }
func (forgetful) Delete(string) error                              { return nil }
func (forgetful) GetJSON(string, any) (bool, error)                { return false, nil }
func (forgetful) ForEach(string, func(string, []byte) error) error { return nil }

const lifeOfRM = 7

var signing = token.NewMasterKey(1, []byte("12345678"))

// bare is a service whose containers never run.
func bare(t testing.TB, d *disks.Disks) (s *Service, who token.NM) {
	log := logrus.New()
	log.Out = io.Discard
	node := records.NodeID{Host: "n1", Port: 4711}
	keys, err := NewKeys(node, forgetful{}, logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := <-keys.SetKeys(signing.PB(), signing.PB()); err != nil {
		t.Fatal(err)
	}
	m := container.NewManager(container.Options{
		Config: container.Config{
			Node: node, Rules: enclosure.Rules{Resource: records.NewResource(8192, 8)}, TrackStopped: time.Minute, MaxDiagnostics: 10000,
		},
		Disks: d, Localizer: nothing{}, Logs: nothing{}, Aux: noAux{}, Deleter: nothing{}, Log: logrus.NewEntry(log),
		ContainerRecords: forgetful{}, AppRecords: forgetful{},
	})
	who = token.NM{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}, Node: node, Submitter: "ann", KeyID: 1}
	return New(Options{
		Containers: m, Keys: keys, Aux: noAux{}, Node: node, IP: "127.0.0.1", RMIdentifier: func() int64 { return lifeOfRM },
		SuspendTimeout: time.Second, Log: logrus.NewEntry(log), Now: func() time.Time { return time.UnixMilli(0) }, Changed: func() {},
	}), who
}

func someDisks(t testing.TB) *disks.Disks {
	log := logrus.New()
	log.Out = io.Discard
	dir := t.TempDir()
	d, err := disks.New(disks.Config{Local: []string{dir + "/local"}, Logs: []string{dir + "/log"}}, logrus.NewEntry(log), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// as is the context of a call.
func as(who token.NM) context.Context {
	return ipc.WithCall(context.Background(), ipc.Call{
		Peer: &ipc.Peer{User: who.User(), Auth: ipc.AuthMethodToken, Identifier: who}, Conn: ipc.NewConn(context.Background(), 1),
	})
}

// handler decodes a request and answers it.
func handler[Q any, R proto.Message, P interface {
	*Q
	proto.Message
}](sign func(P), f func(context.Context, P) (R, error)) func(context.Context, []byte) (proto.Message, error) {
	return func(ctx context.Context, b []byte) (proto.Message, error) {
		req := P(new(Q))
		if err := proto.Unmarshal(b, req); err != nil {
			return nil, err
		}
		if sign != nil {
			sign(req)
		}
		return f(ctx, req)
	}
}

// signed has a token verify, whatever it says.
func signed(t *pb.Token) { t.SetPassword(signing.Sign(t.GetIdentifier())) }

func (s *Service) handlers() []func(context.Context, []byte) (proto.Message, error) {
	return []func(context.Context, []byte) (proto.Message, error){
		handler(func(r *pb.StartContainersRequest) {
			for _, c := range r.GetStartContainerRequest() {
				if c.HasContainerToken() {
					signed(c.GetContainerToken())
				}
			}
		}, s.startContainers),
		handler(nil, s.stopContainers),
		handler(nil, s.getContainerStatuses),
		handler(func(r *pb.ContainerUpdateRequest) {
			for _, t := range r.GetUpdateContainerToken() {
				signed(t)
			}
		}, s.updateContainer),
		handler(func(r *pb.IncreaseContainersResourceRequest) {
			for _, t := range r.GetIncreaseContainers() {
				signed(t)
			}
		}, s.increaseContainersResource),
		handler(nil, s.signalToContainer),
		handler(nil, s.localize),
		handler(nil, s.getLocalizationStatuses),
		handler(nil, s.reInitializeContainer),
		handler(nil, s.restartContainer),
		handler(nil, s.rollbackLastReInitialization),
		handler(nil, s.commitLastReInitialization),
		handler(nil, s.suspendContainers),
		handler(nil, s.resumeContainers),
	}
}

// startOf is a request that is in order.
func startOf(id records.ContainerID, node records.NodeID) *pb.StartContainersRequest {
	m := &pb.ContainerTokenIdentifier{}
	m.SetContainerId(id.PB())
	m.SetNmHostAddr(node.String())
	m.SetAppSubmitter("ann")
	m.SetResource(records.ResourceTypes{}.PB(records.NewResource(256, 1)))
	m.SetExpiryTimeStamp(math.MaxInt64)
	m.SetMasterKeyId(1)
	m.SetRmIdentifier(lifeOfRM)
	b, err := token.Encode(m)
	if err != nil {
		panic(err)
	}
	r := &pb.StartContainerRequest{}
	r.SetContainerToken(signing.Mint(token.KindContainer, "", b).PB())
	lc := &pb.ContainerLaunchContext{}
	lc.SetCommand([]string{"true"})
	r.SetContainerLaunchContext(lc)
	out := &pb.StartContainersRequest{}
	out.SetStartContainerRequest([]*pb.StartContainerRequest{r})
	return out
}

// Any request gets an answer that can be written, or an exception, and the answer is not larger than it should be.
func FuzzHandlers(f *testing.F) {
	d := someDisks(f)
	s, who := bare(f, d)
	id := records.ContainerID{Attempt: who.Attempt, ID: 1}
	start := startOf(id, who.Node)
	update := &pb.ContainerUpdateRequest{}
	update.SetUpdateContainerToken([]*pb.Token{start.GetStartContainerRequest()[0].GetContainerToken()})
	named := &pb.StopContainersRequest{}
	named.SetContainerId([]*pb.ContainerId{id.PB(), {}, id.PB()})
	signal := &pb.SignalContainerRequest{}
	signal.SetContainerId(id.PB())
	signal.SetCommand(pb.SignalContainerCommand_GRACEFUL_SHUTDOWN)
	localize := &pb.ResourceLocalizationRequest{}
	localize.SetContainerId(id.PB())
	for kind, m := range map[int]proto.Message{0: start, 1: named, 3: update, 5: signal, 6: localize, 9: id.PB(), 12: named} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(kind), b)
		f.Add(uint8(kind+1), b)
	}
	s.Containers.Close()
	first, err := proto.Marshal(start)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		s, who := bare(t, d)
		defer s.Containers.Close()
		all := s.handlers()
		ctx := as(who)
		if _, err := all[0](ctx, first); err != nil { // so that there is a container
			t.Fatal(err)
		}
		resp, err := all[int(kind)%len(all)](ctx, b)
		if err != nil {
			return
		}
		text, err := proto.Marshal(resp)
		if err != nil {
			t.Errorf("the answer can't be written: %v", err)
		}
		if most := 1<<20 + 1000*len(b); len(text) > most {
			t.Errorf("a request of %d bytes is answered by %d", len(b), len(text))
		}
	})
}

// What a call costs is bounded, however many containers it names.
func TestCallsThatNameTooManyContainers(t *testing.T) {
	s, who := bare(t, someDisks(t))
	defer s.Containers.Close()
	ids := make([]*pb.ContainerId, maxNamed)
	for i := range ids {
		ids[i] = records.ContainerID{Attempt: who.Attempt, ID: int64(i + 1)}.PB()
	}
	req := &pb.GetContainerStatusesRequest{}
	req.SetContainerId(ids)
	resp, err := s.getContainerStatuses(as(who), req)
	if err != nil || len(resp.GetFailedRequests()) != maxNamed {
		t.Fatalf("%d containers: %d answers, %v", maxNamed, len(resp.GetFailedRequests()), err)
	}
	if b, err := proto.Marshal(resp); err != nil || len(b) > 16<<20 {
		t.Errorf("the answer has %d bytes, %v", len(b), err)
	}
	ids = append(ids, ids[0])
	req.SetContainerId(ids)
	if _, err := s.getContainerStatuses(as(who), req); ipc.Class(err) != ipc.YarnException {
		t.Errorf("too many: %v", err)
	}
	stop := &pb.StopContainersRequest{}
	stop.SetContainerId(ids)
	if _, err := s.stopContainers(as(who), stop); ipc.Class(err) != ipc.YarnException {
		t.Errorf("too many to stop: %v", err)
	}
	start := &pb.StartContainersRequest{}
	start.SetStartContainerRequest(make([]*pb.StartContainerRequest, maxNamed+1))
	if _, err := s.startContainers(as(who), start); ipc.Class(err) != ipc.YarnException {
		t.Errorf("too many to start: %v", err)
	}
	update := &pb.ContainerUpdateRequest{}
	update.SetUpdateContainerToken(make([]*pb.Token, maxNamed+1))
	if _, err := s.updateContainer(as(who), update); ipc.Class(err) != ipc.YarnException {
		t.Errorf("too many to update: %v", err)
	}
	// what a caller sends comes back shortened, and can be written
	e := failure(records.ContainerID{}, errors.New(string(make([]byte, 1<<20))+"\xff"))
	if n := len(e.GetException().GetMessage()); n > maxMessage+10 {
		t.Errorf("a message of %d bytes", n)
	}
}
