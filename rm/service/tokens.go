package service

import (
	"sync"

	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// keyCache keeps master keys in the form that signs fast.
type keyCache struct {
	mu   sync.RWMutex
	keys map[ledgerpb.KeyKind]map[int32]*token.MasterKey
}

func (c *keyCache) get(kind ledgerpb.KeyKind, k ledger.Key) *token.MasterKey {
	c.mu.RLock()
	key := c.keys[kind][k.ID]
	c.mu.RUnlock()
	if key != nil {
		return key
	}
	key = token.NewMasterKey(k.ID, k.Secret)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[ledgerpb.KeyKind]map[int32]*token.MasterKey{}
	}
	if c.keys[kind] == nil || len(c.keys[kind]) > 8 {
		c.keys[kind] = map[int32]*token.MasterKey{}
	}
	c.keys[kind][k.ID] = key
	return key
}

// signing returns the key that new tokens of a kind are signed with.
func (s *Service) signing(l *leader.Leader, kind ledgerpb.KeyKind) *token.MasterKey {
	return s.keys.get(kind, l.Keys(kind).Current)
}

// nmToken lets an attempt speak to a node.
func (s *Service) nmToken(l *leader.Leader, attempt records.AttemptID, n records.NodeID, user string) token.Token {
	key := s.signing(l, ledgerpb.KeyKind_NM)
	id := token.NM{Attempt: attempt, Node: n, Submitter: user, KeyID: key.ID()}
	return key.Mint(token.KindNM, s.forms(n).service, id.Encode())
}

// amrmToken lets an attempt speak to us. Its service is empty: the client fills it in.
func (s *Service) amrmToken(l *leader.Leader, attempt records.AttemptID) token.Token {
	key := s.signing(l, ledgerpb.KeyKind_AM_RM)
	return key.Mint(token.KindAMRM, "", token.AMRM{Attempt: attempt, KeyID: key.ID()}.Encode())
}

// containerToken returns a token whose bearer may start the container. id is that of g, and n its node.
func (s *Service) containerToken(l *leader.Leader, id *pb.ContainerId, n *nodeForms, g *leader.Grant, o owner, p *parts) (token.Token, error) {
	key := s.signing(l, ledgerpb.KeyKind_CONTAINER)
	tail, err := p.tailOf(key.ID(), g, func() ([]byte, error) { return s.containerTerms(key.ID(), g, o, p) })
	if err != nil {
		return token.Token{}, err
	}
	p.head.SetContainerId(id)
	p.head.SetNmHostAddr(n.address)
	p.head.SetAppSubmitter(o.user)
	raw, err := token.Append(make([]byte, 0, len(tail)+containerRoom), &p.head)
	if err != nil {
		return token.Token{}, err
	}
	return key.Mint(token.KindContainer, n.service, append(raw, tail...)), nil
}

// containerRoom is what the fields of a container token's identifier before its terms take, mostly; in bytes.
const containerRoom = 96

// containerTerms returns the fields of a container token's identifier that follow those of the container itself and its user: what
// containers that were granted together mostly have in common.
func (s *Service) containerTerms(key int32, g *leader.Grant, o owner, p *parts) ([]byte, error) {
	kind := pb.ContainerType_TASK
	if g.AM {
		kind = pb.ContainerType_APPLICATION_MASTER
	}
	id := &pb.ContainerTokenIdentifier{}
	id.SetResource(p.size(g.Resource))
	id.SetExpiryTimeStamp(s.View.Now().Add(s.Expiry).UnixMilli())
	id.SetMasterKeyId(key)
	id.SetRmIdentifier(o.timestamp)
	id.SetPriority(p.prio(g.Priority))
	id.SetCreationTime(g.Allocated)
	id.SetLogAggregationContext(o.logs)
	id.SetNodeLabelExpression("")
	id.SetContainerType(kind)
	id.SetExecutionType(g.ExecutionType)
	id.SetVersion(g.Version)
	id.SetAllocationRequestId(g.AllocationRequestID)
	id.SetAllocationTags(g.Tags)
	return token.Encode(id)
}

// MasterSecrets checks the tokens of ApplicationMasters (ipc.ServerConfig.Secrets of the scheduler's port).
type MasterSecrets struct{ *Service }

// Bearer implements ipc.Secrets.
func (s MasterSecrets) Bearer(identifier []byte) (ipc.Bearer, error) {
	id, err := token.ParseAMRM(identifier)
	if err != nil {
		return ipc.Bearer{}, ipc.ErrMalformedIdentifier
	}
	l, err := s.leader()
	if err != nil {
		return ipc.Bearer{}, err
	}
	ring := l.Keys(ledgerpb.KeyKind_AM_RM)
	for _, k := range []ledger.Key{ring.Current, ring.Previous, ring.Next} {
		if k.Secret == nil || k.ID != id.KeyID || !s.attemptLives(id.Attempt) {
			continue
		}
		return ipc.Bearer{
			Password: s.keys.get(ledgerpb.KeyKind_AM_RM, k).Sign(identifier),
			User:     id.User(), Kind: token.KindAMRM, Identifier: id,
		}, nil
	}
	return ipc.Bearer{}, ipc.NewException(ipc.InvalidToken, "%v not found in AMRMTokenSecretManager.", id.Attempt)
}

// attemptLives reports whether an attempt may still speak: its application runs, or ended so that a farewell may be
// repeated.
func (s *Service) attemptLives(id records.AttemptID) (ok bool) {
	s.Backend.Read(func(st *ledger.State) {
		if a := st.Apps[id.App]; a != nil && !a.State.Ended() {
			t := a.Attempt(id.Attempt)
			ok = t != nil && !t.State.Ended()
		}
	})
	return ok
}

func priority(p int32) *pb.Priority {
	m := &pb.Priority{}
	m.SetPriority(p)
	return m
}
