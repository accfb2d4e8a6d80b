// Package secure has tests of clusters with Kerberos, whose KDC they start: Heddle's daemons and commands, and Hadoop's on either side.
//
// Attacks on such a cluster are tried where the code is that must withstand them:
//
//	a request again, on the same member       yarn/kerberos TestReplays, yarn/rest/auth TestTicketsOfWebUsers
//	a whole exchange, on another member       yarn/kerberos TestExchangesAreNotRepeatedToAnotherMember
//	tickets of other services, old or damaged yarn/kerberos TestRefusedRequests, yarn/ipc TestRecordedKerberosHandshakes
//	a lower quality of protection             yarn/sasl TestDowngradesAreRefused, yarn/ipc TestProtectionIsNotLowered
//	cut, changed, reordered messages          yarn/kerberos TestWrapTokens, yarn/sasl TestProtectedMessages
//	forged cookies                            yarn/rest/auth TestSignature, TestFilter
//	doAs and proxies without the right        yarn/ipc TestKerberosProxies, yarn/rest/auth TestFilter, rm/rest
//	a node without the account of nodes       TestHeddleWithKerberos
//	thousands of strangers at once            yarn/ipc TestTenThousandAnonymousHandshakes
//	all attacks of the attack suite           integration/attacks TestHostilesGetNothingWithKerberos
//	clocks that differ                        yarn/kerberos TestRefusedRequests, yarn/kerberos/login TestAKDCOfAnotherTime
//	a KDC that doesn't let a daemon in        yarn/kerberos/login TestLoginsAtAKDC, TestShortTickets
//	a KDC that is silent, or away at first    yarn/kerberos/login TestASilentKDCHoldsUpNobody, TestTheKDCIsAwayAtFirst
//	the same under a secured HDFS             TestASlowKDCUnderSecuredHDFS
//	a KDC, or who answers for it, is hostile  yarn/kerberos/kdc TestHostileKDCs
//	how much of a secret is right, by time    internal/house TestSecretsAreComparedInConstantTime
//	leaders are killed among renewals         TestALongJobUnderShortTickets
//	a Key Management Server that is hostile   hdfsadapter/zone TestOddAnswers, TestTheNextHost
//	names in LDAP that are filters            conf/usergroups TestGroupsOfLDAP
//	forged tokens in credentials              rm/leader/delegation TestForgedTokensAreLeftAlone
package secure
