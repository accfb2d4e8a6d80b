// Package token has the means by which YARN proves identities: tokens in their three serialized forms, the identifiers
// inside them, the master keys that sign them, and the credentials files that carry them to containers.
//
// A token is an identifier (who the bearer is, and which key signed it), a password, a kind, and the service that
// accepts it. The password is HMAC-SHA1(master key, identifier), so that a server with the key can check a token that
// it has never seen. A server must compute it over the identifier bytes as received, never over a re-encoding.
package token
