// Package kerberos authenticates peers by Kerberos 5, as Hadoop's daemons and clients do: GSS-API contexts (RFC 4121) and the SASL mechanism GSSAPI
// (RFC 4752) above them.
//
//	initiator → acceptor  AP-REQ: a ticket for the service, and an authenticator that the initiator made just now
//	acceptor → initiator  AP-REP, if the initiator asked for mutual authentication
//	acceptor → initiator  a wrap token with the qualities of protection that the acceptor offers, and its buffer
//	initiator → acceptor  a wrap token with the quality that it takes, its buffer and, maybe, whom it acts as
//
// An Acceptor checks tickets by a Keytab, and refuses the ones that it has seen before (Replays). Server and Client are the two ends of a SASL
// exchange. HTTP (SPNEGO) uses Acceptor and Context without them.
//
// Ciphers, checksums and ASN.1 are gokrb5's. This package has what that lacks: see docs/decisions/kerberos.md.
package kerberos
