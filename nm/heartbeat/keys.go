package heartbeat

import (
	"context"

	"github.com/sirupsen/logrus"

	"heddle/nm/service"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// keys takes over the ResourceManager's keys for tokens, and what it has sent of delegation tokens.
type keys struct {
	*service.Keys
	log      *logrus.Entry
	sequence int64 // number of the last delegation tokens
}

// Registering says that keys will come.
func (k *keys) Registering(*pb.RegisterNodeManagerRequest) { k.Expect() }

// Registered takes the keys. That of NM tokens admits callers, who need everything else: it comes last.
func (k *keys) Registered(resp *pb.RegisterNodeManagerResponse) {
	k.sequence = 0
	k.logged("Could not keep the keys for tokens", k.SetKeys(
		key(resp.HasContainerTokenMasterKey(), resp.GetContainerTokenMasterKey()), key(resp.HasNmTokenMasterKey(),
			resp.GetNmTokenMasterKey())))
}

func key(has bool, m *pb.MasterKey) *pb.MasterKey {
	if !has {
		return nil
	}
	return m
}

// Report tells which keys the node has.
func (k *keys) Report(req *pb.NodeHeartbeatRequest) {
	if m := k.ContainerKey(); m != nil {
		req.SetLastKnownContainerTokenMasterKey(m)
	}
	if m := k.NodeKey(); m != nil {
		req.SetLastKnownNmTokenMasterKey(m)
	}
	req.SetTokenSequenceNo(k.sequence)
}

// Delivered notes up to which number the node has delegation tokens.
func (k *keys) Delivered(resp *pb.NodeHeartbeatResponse) { k.sequence = resp.GetTokenSequenceNo() }

// Apply takes new keys.
func (k *keys) Apply(_ context.Context, resp *pb.NodeHeartbeatResponse) {
	if m := key(resp.HasContainerTokenMasterKey(), resp.GetContainerTokenMasterKey()); m != nil {
		k.logged("Could not keep the new key for container tokens", k.SetContainerKey(m))
	}
	if m := key(resp.HasNmTokenMasterKey(), resp.GetNmTokenMasterKey()); m != nil {
		k.logged("Could not keep the new key for NM tokens", k.SetNodeKey(m))
	}
}

// AppEnded removes the keys of an application.
func (k *keys) AppEnded(app records.ApplicationID) {
	k.logged("Could not remove an application's keys", k.Finished(app))
}

// logged logs a failed write. It doesn't wait for the write.
func (k *keys) logged(failure string, written <-chan error) {
	go func() {
		if err := <-written; err != nil {
			k.log.WithError(err).Error(failure)
		}
	}()
}

// system keeps the credentials that the ResourceManager has got for applications.
type system struct {
	set func([]*pb.SystemCredentialsForApps) error
	log *logrus.Entry
}

// Apply takes the credentials.
func (s *system) Apply(_ context.Context, resp *pb.NodeHeartbeatResponse) {
	if err := s.set(resp.GetSystemCredentialsForApps()); err != nil {
		s.log.WithError(err).Error("Could not read the credentials for an application")
	}
}
