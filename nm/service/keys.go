package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Bucket keeps keys across restarts (nm/store).
type Bucket interface {
	// Begin sets a key, and BeginDelete removes one, without waiting for the disk. The channels get the outcomes.
	Begin(key string, value []byte) <-chan error
	BeginDelete(key string) <-chan error
	GetJSON(key string, value any) (found bool, err error)
	ForEach(prefix string, f func(key string, value []byte) error) error
}

// Keys are the master keys with which a NodeManager checks tokens. The ResourceManager sends them, and new ones from
// time to time. Tokens signed with the previous key stay valid. An application attempt keeps the NM token with which it
// started its first container, however many keys have come since.
//
// Heartbeats bring keys, and must not wait for a disk. So a change takes effect when the call returns, and the returned
// channel gets the outcome when the change is on disk.
type Keys struct {
	node   records.NodeID
	bucket Bucket

	mu         sync.Mutex
	containers pair
	nodes      pair
	attempts   map[records.AttemptID]*token.MasterKey
	arrived    chan struct{} // closed when the expected key has arrived
}

// keyPatience bounds the wait for a key under way. After a registration the ResourceManager may give out tokens signed
// with it before the node has received it.
const keyPatience = 10 * time.Second

// pair is a current key and its predecessor.
type pair struct{ current, previous *token.MasterKey }

// savedKey is the form in the store.
type savedKey struct {
	ID     int32  `json:"id"`
	Secret []byte `json:"secret"`
}

type savedPair struct {
	Current  *savedKey `json:"current,omitempty"`
	Previous *savedKey `json:"previous,omitempty"`
}

// Keys of the bucket.
const (
	containerKeys = "containers"
	nodeKeys      = "nodes"
	attemptKeys   = "attempt/"
)

// NewKeys returns the stored keys of a node. It removes records that make no sense: the ResourceManager sends its keys
// again, and the attempt whose key is lost must ask for a new NM token.
func NewKeys(node records.NodeID, bucket Bucket, log *logrus.Entry) (*Keys, error) {
	k := &Keys{
		node: node, bucket: bucket, attempts: make(map[records.AttemptID]*token.MasterKey), arrived: make(chan struct{}),
	}
	for name, p := range map[string]*pair{containerKeys: &k.containers, nodeKeys: &k.nodes} {
		var s savedPair
		if _, err := bucket.GetJSON(name, &s); err != nil {
			log.WithError(err).Error("waiting for the ResourceManager's keys: the stored ones are damaged")
			s = savedPair{}
		}
		p.current, p.previous = s.Current.key(), s.Previous.key()
	}
	err := bucket.ForEach(attemptKeys, func(key string, _ []byte) error {
		id, err := records.ParseAttemptID(key[len(attemptKeys):])
		var s savedKey
		if err == nil {
			_, err = bucket.GetJSON(key, &s)
		}
		if err != nil {
			log.WithField("key", key).WithError(err).Error("removing the key of an application attempt, which is damaged")
			return <-bucket.BeginDelete(key)
		}
		k.attempts[id] = s.key()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recover the keys of application attempts: %w", err)
	}
	return k, nil
}

func (s *savedKey) key() *token.MasterKey {
	if s == nil {
		return nil
	}
	return token.NewMasterKey(s.ID, s.Secret)
}

func saved(k *token.MasterKey) *savedKey {
	if k == nil {
		return nil
	}
	return &savedKey{ID: k.ID(), Secret: k.Secret()}
}

// Expect says that the node is about to register, and will get keys with the answer.
func (k *Keys) Expect() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.expected() {
		return
	}
	k.arrived = make(chan struct{})
}

func (k *Keys) expected() bool {
	select {
	case <-k.arrived:
		return false
	default:
		return true
	}
}

// SetContainerKey sets a new key for container tokens. nil changes nothing.
func (k *Keys) SetContainerKey(m *pb.MasterKey) <-chan error {
	return k.roll(containerKeys, &k.containers, m)
}

// SetNodeKey sets a new key for NM tokens. nil changes nothing.
func (k *Keys) SetNodeKey(m *pb.MasterKey) <-chan error { return k.roll(nodeKeys, &k.nodes, m) }

// SetKeys sets both keys. They are valid at once, because the ResourceManager, which has just sent them, may use them
// already.
func (k *Keys) SetKeys(containers, nodes *pb.MasterKey) <-chan error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return all(k.replace(containerKeys, &k.containers, containers), k.replace(nodeKeys, &k.nodes, nodes))
}

func (k *Keys) roll(name string, p *pair, m *pb.MasterKey) <-chan error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.replace(name, p, m)
}

// all returns the outcome of several writes.
func all(writes ...<-chan error) <-chan error {
	done := make(chan error, 1)
	if len(writes) == 0 {
		done <- nil
		return done
	}
	go func() {
		var errs []error
		for _, w := range writes {
			errs = append(errs, <-w)
		}
		done <- errors.Join(errs...)
	}()
	return done
}

// put begins to store a value.
func (k *Keys) put(key string, value any) <-chan error {
	text, err := json.Marshal(value)
	if err != nil {
		done := make(chan error, 1)
		done <- fmt.Errorf("%s: %w", key, err)
		return done
	}
	return k.bucket.Begin(key, text)
}

// replace sets a new key. The caller has the lock, so that keys reach the disk in the order of their arrival.
func (k *Keys) replace(name string, p *pair, m *pb.MasterKey) <-chan error {
	if m == nil {
		return all()
	}
	next := token.MasterKeyFromPB(m)
	if p.current != nil && p.current.ID() != next.ID() {
		p.previous = p.current
	}
	p.current = next
	if p == &k.nodes && k.expected() {
		close(k.arrived)
	}
	return k.put(name, savedPair{Current: saved(p.current), Previous: saved(p.previous)})
}

// ContainerKey returns the newest key for container tokens, in the form for heartbeats, or nil.
func (k *Keys) ContainerKey() *pb.MasterKey { return k.newest(&k.containers) }

// NodeKey returns the newest key for NM tokens, in the form for heartbeats, or nil.
func (k *Keys) NodeKey() *pb.MasterKey { return k.newest(&k.nodes) }

func (k *Keys) newest(p *pair) *pb.MasterKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.current == nil {
		return nil
	}
	return p.current.PB()
}

func (p *pair) find(id int32) *token.MasterKey {
	for _, k := range []*token.MasterKey{p.current, p.previous} {
		if k != nil && k.ID() == id {
			return k
		}
	}
	return nil
}

// Bearer implements ipc.Secrets: bearers of an NM token for this node may connect.
func (k *Keys) Bearer(identifier []byte) (ipc.Bearer, error) {
	id, err := token.ParseNM(identifier)
	if err != nil {
		return ipc.Bearer{}, fmt.Errorf("%w: %w", ipc.ErrMalformedIdentifier, err)
	}
	if id.Node != k.node {
		return ipc.Bearer{}, ipc.NewException(ipc.InvalidToken, "Given NMToken for application : %s is not valid for current node manager.expected : %s found : %s",
			id.Attempt, k.node, id.Node)
	}
	key := k.of(id)
	if key == nil {
		k.await()
		key = k.of(id)
	}
	if key == nil {
		return ipc.Bearer{}, ipc.NewException(ipc.InvalidToken, "Given NMToken for application : %s seems to have been generated illegally.", id.Attempt)
	}
	return ipc.Bearer{Password: key.Sign(identifier), User: id.User(), Kind: token.KindNM, Identifier: id}, nil
}

// of returns the key that must have signed a token, or nil if the node doesn't have it.
func (k *Keys) of(id token.NM) *token.MasterKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key := k.attempts[id.Attempt]; key != nil && key.ID() == id.KeyID {
		return key
	}
	return k.nodes.find(id.KeyID)
}

// await waits for expected keys.
func (k *Keys) await() {
	k.mu.Lock()
	arrived := k.arrived
	k.mu.Unlock()
	timer := time.NewTimer(keyPatience)
	defer timer.Stop()
	select {
	case <-arrived:
	case <-timer.C:
	}
}

// Started records which key signed an attempt's NM token when the attempt starts containers. It returns when the record
// is on disk.
func (k *Keys) Started(id token.NM) error {
	k.mu.Lock()
	key := k.nodes.find(id.KeyID)
	if have := k.attempts[id.Attempt]; key == nil || have != nil && have.ID() == key.ID() {
		k.mu.Unlock()
		return nil
	}
	k.attempts[id.Attempt] = key
	done := k.put(attemptKeys+id.Attempt.String(), saved(key))
	k.mu.Unlock()
	return <-done
}

// Finished removes the keys of an application's attempts.
func (k *Keys) Finished(app records.ApplicationID) <-chan error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var gone []<-chan error
	for id := range k.attempts {
		if id.App == app {
			delete(k.attempts, id)
			gone = append(gone, k.bucket.BeginDelete(attemptKeys+id.String()))
		}
	}
	return all(gone...)
}

// Container checks a container token, and returns its contents. As in Hadoop, an error ends the whole call that brought
// the token.
func (k *Keys) Container(t *pb.Token) (*pb.ContainerTokenIdentifier, error) {
	id, err := token.ParseContainer(t.GetIdentifier())
	if err != nil {
		return nil, ipc.NewException(ipc.InvalidToken, "Invalid container token used for starting container on : %s: %v",
			k.node, err)
	}
	name := records.ContainerIDFrom(id.GetContainerId())
	k.mu.Lock()
	key := k.containers.find(id.GetMasterKeyId())
	k.mu.Unlock()
	if key == nil {
		return nil, ipc.NewException(ipc.InvalidToken, "Given Container %s seems to have an illegally generated token.", name)
	}
	if !key.Verify(t.GetIdentifier(), t.GetPassword()) {
		return nil, ipc.NewException(ipc.InvalidToken, "Invalid container token used for starting container on : %s", k.node)
	}
	if id.GetNmHostAddr() != k.node.String() {
		return nil, ipc.NewException(ipc.InvalidToken, "Given Container %s identifier is not valid for current Node manager. Expected : %s Found : %s",
			name, k.node, id.GetNmHostAddr())
	}
	return id, nil
}
