package token

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Encode returns the bytes of a protobuf identifier, which a key then signs. Fields are in ascending order: Java's
// verifiers encode the identifier again before they compute its HMAC.
func Encode(m proto.Message) ([]byte, error) { return Append(nil, m) }

// Append appends the bytes that Encode returns. Two messages of one type form one identifier if every field number of
// the second is higher than those of the first.
func Append(b []byte, m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, m)
	if err != nil {
		return nil, fmt.Errorf("token identifier %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return b, nil
}

// AMRM is the identity of an application attempt towards the ResourceManager.
type AMRM struct {
	Attempt records.AttemptID
	KeyID   int32
}

// Encode returns the bytes of the identifier.
func (id AMRM) Encode() []byte {
	m := &pb.AMRMTokenIdentifier{}
	m.SetAppAttemptId(id.Attempt.PB())
	m.SetKeyId(id.KeyID)
	return mustEncode(m)
}

// User returns the name that the bearer acts as.
func (id AMRM) User() string { return id.Attempt.String() }

// ParseAMRM reads the bytes of the identifier.
func ParseAMRM(b []byte) (AMRM, error) {
	var m pb.AMRMTokenIdentifier
	if err := decode(b, &m, m.HasAppAttemptId); err != nil {
		return AMRM{}, err
	}
	return AMRM{records.AttemptIDFrom(m.GetAppAttemptId()), m.GetKeyId()}, nil
}

// NM is the identity of an application attempt, or of the ResourceManager on its behalf, towards one NodeManager.
type NM struct {
	Attempt   records.AttemptID
	Node      records.NodeID
	Submitter string // the user whose application it is
	KeyID     int32
}

// Encode returns the bytes of the identifier.
func (id NM) Encode() []byte {
	m := &pb.NMTokenIdentifier{}
	m.SetAppAttemptId(id.Attempt.PB())
	m.SetNodeId(id.Node.PB())
	m.SetAppSubmitter(id.Submitter)
	m.SetKeyId(id.KeyID)
	return mustEncode(m)
}

// User returns the name that the bearer acts as.
func (id NM) User() string { return id.Attempt.String() }

// ParseNM reads the bytes of the identifier.
func ParseNM(b []byte) (NM, error) {
	var m pb.NMTokenIdentifier
	if err := decode(b, &m, m.HasAppAttemptId); err != nil {
		return NM{}, err
	}
	return NM{
		records.AttemptIDFrom(m.GetAppAttemptId()), records.NodeIDFrom(m.GetNodeId()), m.GetAppSubmitter(), m.GetKeyId(),
	}, nil
}

// ParseContainer reads the identifier of a container token. Its bearer acts under the container's id.
func ParseContainer(b []byte) (*pb.ContainerTokenIdentifier, error) {
	m := &pb.ContainerTokenIdentifier{}
	if err := decode(b, m, m.HasContainerId); err != nil {
		return nil, err
	}
	return m, nil
}

// ClientToAM is the identity of a client towards an ApplicationMaster.
type ClientToAM struct {
	Attempt records.AttemptID
	Client  string
}

// Encode returns the bytes of the identifier.
func (id ClientToAM) Encode() []byte {
	m := &pb.ClientToAMTokenIdentifier{}
	m.SetAppAttemptId(id.Attempt.PB())
	m.SetClientName(id.Client)
	return mustEncode(m)
}

// User returns the name that the bearer acts as.
func (id ClientToAM) User() string { return id.Client }

// ParseClientToAM reads the bytes of the identifier.
func ParseClientToAM(b []byte) (ClientToAM, error) {
	var m pb.ClientToAMTokenIdentifier
	if err := decode(b, &m, m.HasAppAttemptId); err != nil {
		return ClientToAM{}, err
	}
	return ClientToAM{records.AttemptIDFrom(m.GetAppAttemptId()), m.GetClientName()}, nil
}

// Delegation is the identity of a user towards the ResourceManager.
type Delegation struct {
	Owner    string // the user that the bearer acts as
	Renewer  string // the user that may renew the token
	RealUser string // the user that obtained it, if not the owner
	IssueMS  int64  // milliseconds since 1970
	MaxMS    int64  // milliseconds since 1970; it can't be renewed beyond that
	Sequence int32
	KeyID    int32
}

// Encode returns the bytes of the identifier. Like Java it leaves out names that are empty.
func (id Delegation) Encode() []byte {
	m := &pb.YARNDelegationTokenIdentifier{}
	if id.Owner != "" {
		m.SetOwner(id.Owner)
	}
	if id.Renewer != "" {
		m.SetRenewer(id.Renewer)
	}
	if id.RealUser != "" {
		m.SetRealUser(id.RealUser)
	}
	m.SetIssueDate(id.IssueMS)
	m.SetMaxDate(id.MaxMS)
	m.SetSequenceNumber(id.Sequence)
	m.SetMasterKeyId(id.KeyID)
	return mustEncode(m)
}

// User returns the owner, for whom the bearer acts, and the real user who opened the connection, if that is
// another.
func (id Delegation) User() (user, realUser string) {
	if id.RealUser == id.Owner {
		return id.Owner, ""
	}
	return id.Owner, id.RealUser
}

// ParseDelegation reads the bytes of the identifier.
func ParseDelegation(b []byte) (Delegation, error) {
	var m pb.YARNDelegationTokenIdentifier
	if err := decode(b, &m, nil); err != nil {
		return Delegation{}, err
	}
	return Delegation{
		m.GetOwner(), m.GetRenewer(), m.GetRealUser(), m.GetIssueDate(), m.GetMaxDate(), m.GetSequenceNumber(),
		m.GetMasterKeyId(),
	}, nil
}

// decode parses an identifier. It fails if has, which checks the required field, returns false.
func decode(b []byte, m proto.Message, has func() bool) error {
	name := m.ProtoReflect().Descriptor().Name()
	if err := proto.Unmarshal(b, m); err != nil {
		return fmt.Errorf("token identifier %s: %w", name, err)
	}
	if has != nil && !has() {
		return fmt.Errorf("token identifier %s names no user", name)
	}
	return nil
}

// mustEncode is for messages without required fields and with valid strings. Encoding those can't fail.
func mustEncode(m proto.Message) []byte {
	b, err := Encode(m)
	if err != nil {
		panic(err)
	}
	return b
}
