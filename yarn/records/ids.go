package records

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"heddle/yarn/pb"
)

// EpochShift is the number of low bits of ContainerID.ID that count containers; the bits above are the epoch, the
// number of times that the cluster has changed its leader (Hadoop: ResourceManager restarts).
const EpochShift = 40

// ApplicationID names an application: the time when the cluster was first started, in milliseconds since 1970, and a
// number counted from 1.
type ApplicationID struct {
	ClusterTimestamp int64
	ID               int32
}

// AttemptID names one attempt to run an application; attempts are counted from 1.
type AttemptID struct {
	App     ApplicationID
	Attempt int32
}

// ContainerID names a container of an attempt. ID is epoch<<EpochShift | sequence; sequences count from 1 and the
// first container of an attempt is its ApplicationMaster's.
type ContainerID struct {
	Attempt AttemptID
	ID      int64
}

// NodeID names a NodeManager by the host and port of its ContainerManagementProtocol.
type NodeID struct {
	Host string
	Port int32
}

// String returns application_<timestamp>_<id, at least 4 digits>.
func (id ApplicationID) String() string {
	return string(id.append(append(make([]byte, 0, 40), "application_"...)))
}

func (id ApplicationID) append(b []byte) []byte {
	b = strconv.AppendInt(b, id.ClusterTimestamp, 10)
	b = append(b, '_')
	return appendPadded(b, int64(id.ID), 4)
}

// String returns appattempt_<timestamp>_<app id>_<attempt, at least 6 digits>.
func (id AttemptID) String() string {
	b := id.App.append(append(make([]byte, 0, 48), "appattempt_"...))
	return string(appendPadded(append(b, '_'), int64(id.Attempt), 6))
}

// String returns container_[e<epoch>_]<timestamp>_<app id>_<attempt>_<sequence>; the epoch is left out when it is 0.
func (id ContainerID) String() string {
	b := append(make([]byte, 0, 56), "container_"...)
	if e := id.Epoch(); e > 0 {
		b = append(appendPadded(append(b, 'e'), e, 2), '_')
	}
	b = append(id.Attempt.App.append(b), '_')
	b = append(appendPadded(b, int64(id.Attempt.Attempt), 2), '_')
	return string(appendPadded(b, id.Sequence(), 6))
}

// String returns host:port.
func (id NodeID) String() string { return id.Host + ":" + strconv.Itoa(int(id.Port)) }

// Address returns where the node is called, with an IPv6 host in brackets.
func (id NodeID) Address() string { return net.JoinHostPort(id.Host, strconv.Itoa(int(id.Port))) }

// Epoch returns the number of leader changes before the container was allocated.
func (id ContainerID) Epoch() int64 { return id.ID >> EpochShift }

// Sequence returns the container's number within its attempt and epoch.
func (id ContainerID) Sequence() int64 { return id.ID & (1<<EpochShift - 1) }

// Compare orders applications by cluster and number.
func (id ApplicationID) Compare(o ApplicationID) int {
	return cmp.Or(cmp.Compare(id.ClusterTimestamp, o.ClusterTimestamp), cmp.Compare(id.ID, o.ID))
}

// Compare orders attempts by application and number.
func (id AttemptID) Compare(o AttemptID) int {
	return cmp.Or(id.App.Compare(o.App), cmp.Compare(id.Attempt, o.Attempt))
}

// Compare orders containers by attempt, epoch and sequence.
func (id ContainerID) Compare(o ContainerID) int {
	return cmp.Or(id.Attempt.Compare(o.Attempt), cmp.Compare(id.ID, o.ID))
}

// Compare orders nodes by host and port.
func (id NodeID) Compare(o NodeID) int {
	return cmp.Or(cmp.Compare(id.Host, o.Host), cmp.Compare(id.Port, o.Port))
}

// ParseApplicationID reads what ApplicationID.String writes.
func ParseApplicationID(s string) (ApplicationID, error) {
	f, err := fields(s, "application", 2)
	if err != nil {
		return ApplicationID{}, fmt.Errorf("invalid application id %q: %w", s, err)
	}
	return ApplicationID{ClusterTimestamp: f[0], ID: int32(f[1])}, nil
}

// ParseAttemptID reads what AttemptID.String writes.
func ParseAttemptID(s string) (AttemptID, error) {
	f, err := fields(s, "appattempt", 3)
	if err != nil {
		return AttemptID{}, fmt.Errorf("invalid application attempt id %q: %w", s, err)
	}
	return AttemptID{App: ApplicationID{ClusterTimestamp: f[0], ID: int32(f[1])}, Attempt: int32(f[2])}, nil
}

// ParseContainerID reads what ContainerID.String writes, with or without an epoch.
func ParseContainerID(s string) (ContainerID, error) {
	bad := func(err error) (ContainerID, error) {
		return ContainerID{}, fmt.Errorf("invalid container id %q: %w", s, err)
	}
	rest, epoch := s, int64(0)
	if tail, ok := strings.CutPrefix(s, "container_e"); ok {
		text, tail, _ := strings.Cut(tail, "_")
		e, ok := digits(text, 64-EpochShift)
		if !ok {
			return bad(fmt.Errorf("epoch %q is not a number", text))
		}
		epoch, rest = e, "container_"+tail
	}
	f, err := fields(rest, "container", 4)
	if err != nil {
		return bad(err)
	}
	if f[3] >= 1<<EpochShift {
		return bad(fmt.Errorf("number %d is out of range", f[3]))
	}
	app := ApplicationID{ClusterTimestamp: f[0], ID: int32(f[1])}
	return ContainerID{
		Attempt: AttemptID{App: app, Attempt: int32(f[2])},
		ID:      epoch<<EpochShift | f[3],
	}, nil
}

// ParseNodeID reads host:port.
func ParseNodeID(s string) (NodeID, error) {
	host, port, ok := cutLast(s, ':')
	if !ok || host == "" {
		return NodeID{}, fmt.Errorf("invalid node id %q: want host:port", s)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return NodeID{}, fmt.Errorf("invalid node id %q: port %q is not a number below 65536", s, port)
	}
	return NodeID{Host: host, Port: int32(n)}, nil
}

// fields splits prefix_a_b_… into n numbers. The first and the last have 64 bits, those between have 32.
func fields(s, prefix string, n int) ([]int64, error) {
	parts := strings.Split(s, "_")
	if parts[0] != prefix || len(parts) != n+1 {
		return nil, fmt.Errorf("want %s followed by %d numbers, joined by _", prefix, n)
	}
	out := make([]int64, n)
	for i, p := range parts[1:] {
		bits := 32
		if i == 0 || (i == n-1 && prefix == "container") {
			bits = 64
		}
		v, ok := digits(p, bits)
		if !ok {
			return nil, fmt.Errorf("%q is not a number in range", p)
		}
		out[i] = v
	}
	return out, nil
}

// digits reads a decimal number without a sign that fits into so many bits, sign bit included.
func digits(s string, bits int) (v int64, ok bool) {
	if s == "" || s[0] == '+' || s[0] == '-' {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, bits)
	return v, err == nil
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func appendPadded(b []byte, v int64, width int) []byte {
	for limit := int64(10); width > 1; width-- {
		if v < limit {
			for ; width > 1; width-- {
				b = append(b, '0')
			}
			break
		}
		limit *= 10
	}
	return strconv.AppendInt(b, v, 10)
}

// PB returns the wire form.
func (id ApplicationID) PB() *pb.ApplicationId {
	m := &pb.ApplicationId{}
	m.SetId(id.ID)
	m.SetClusterTimestamp(id.ClusterTimestamp)
	return m
}

// PB returns the wire form.
func (id AttemptID) PB() *pb.ApplicationAttemptId {
	m := &pb.ApplicationAttemptId{}
	m.SetApplicationId(id.App.PB())
	m.SetAttemptId(id.Attempt)
	return m
}

// PB returns the wire form. Like Hadoop's it leaves app_id unset, because the attempt id contains it.
func (id ContainerID) PB() *pb.ContainerId {
	m := &pb.ContainerId{}
	m.SetAppAttemptId(id.Attempt.PB())
	m.SetId(id.ID)
	return m
}

// PB returns the wire form.
func (id NodeID) PB() *pb.NodeId {
	m := &pb.NodeId{}
	m.SetHost(id.Host)
	m.SetPort(id.Port)
	return m
}

// ApplicationIDFrom reads the wire form; nil gives the zero id.
func ApplicationIDFrom(m *pb.ApplicationId) ApplicationID {
	return ApplicationID{ClusterTimestamp: m.GetClusterTimestamp(), ID: m.GetId()}
}

// AttemptIDFrom reads the wire form; nil gives the zero id.
func AttemptIDFrom(m *pb.ApplicationAttemptId) AttemptID {
	return AttemptID{App: ApplicationIDFrom(m.GetApplicationId()), Attempt: m.GetAttemptId()}
}

// ContainerIDFrom reads the wire form; nil gives the zero id.
func ContainerIDFrom(m *pb.ContainerId) ContainerID {
	return ContainerID{Attempt: AttemptIDFrom(m.GetAppAttemptId()), ID: m.GetId()}
}

// NodeIDFrom reads the wire form; nil gives the zero id.
func NodeIDFrom(m *pb.NodeId) NodeID { return NodeID{Host: m.GetHost(), Port: m.GetPort()} }
