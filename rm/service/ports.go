package service

import (
	"heddle/yarn/ipc"
)

// Port is a port of the ResourceManager: the callers that it admits, and the protocols that it serves.
type Port struct {
	Config ipc.ServerConfig
	Serve  func(*ipc.Server)
}

// Clients returns the port of ApplicationClientProtocol. It takes delegation tokens, and Kerberos tickets or else the user names that clients claim.
func (s *Service) Clients() Port {
	return Port{s.Identity.Proven(ipc.ServerConfig{Gate: s.Gate, Auth: ipc.AuthSimpleOrToken, Secrets: ClientSecrets{s}}, ipc.AuthTokenOrKerberos), s.ServeClients}
}

// Masters returns the port of ApplicationMasterProtocol. Every caller needs the token of a live attempt.
func (s *Service) Masters() Port {
	return Port{ipc.ServerConfig{Gate: s.Gate, Auth: ipc.AuthToken, Secrets: MasterSecrets{s}}, s.ServeMasters}
}

// Nodes returns the port of ResourceTracker. With Kerberos nodes prove by that who they are. Without it, but with a key, they prove by that that they belong to the
// cluster; strangers admits others as well.
func (s *Service) Nodes(key []byte, strangers bool) Port {
	p := Port{ipc.ServerConfig{Gate: s.Gate}, s.ServeNodes}
	if key != nil && s.Identity.Kerberos == nil {
		p.Config.Secrets, p.Config.Auth = NodeSecrets{Key: key}, ipc.AuthToken
		if strangers {
			p.Config.Auth = ipc.AuthSimpleOrToken
		}
	}
	p.Config = s.Identity.Proven(p.Config, ipc.AuthKerberos)
	return p
}

// Admins returns the port of ResourceManagerAdministrationProtocol and HAServiceProtocol. It has no gate: standbys answer for themselves.
func (s *Service) Admins() Port {
	return Port{s.Identity.Proven(ipc.ServerConfig{}, ipc.AuthKerberos), s.ServeAdmins}
}
