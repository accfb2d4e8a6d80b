// Package delegation deals with delegation tokens for a leader: an Issuer issues, renews, cancels and expires those of the
// ResourceManager (Hadoop: RMDelegationTokenSecretManager), and Carried renews and cancels those in the credentials of live
// applications, from any issuer (Hadoop: DelegationTokenRenewer).
//
// Tokens that the ResourceManager has issued are in the ledger. The state of Carried is soft: the next leader reads the credentials
// of the applications that live, and renews all of their tokens.
//
// Methods that say so are operations of their own, and safe for concurrent use. Operations of the leader's loop call the others.
package delegation
