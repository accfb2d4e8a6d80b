package protocol

import "heddle/yarn/pb"

// Calls of clients to the ResourceManager (port 8032).
var (
	GetNewApplication           = repeatable[pb.GetNewApplicationRequest, pb.GetNewApplicationResponse](ApplicationClient, "getNewApplication")
	GetApplicationReport        = repeatable[pb.GetApplicationReportRequest, pb.GetApplicationReportResponse](ApplicationClient, "getApplicationReport")
	SubmitApplication           = repeatable[pb.SubmitApplicationRequest, pb.SubmitApplicationResponse](ApplicationClient, "submitApplication")
	FailApplicationAttempt      = once[pb.FailApplicationAttemptRequest, pb.FailApplicationAttemptResponse](ApplicationClient, "failApplicationAttempt")
	ForceKillApplication        = repeatable[pb.KillApplicationRequest, pb.KillApplicationResponse](ApplicationClient, "forceKillApplication")
	GetClusterMetrics           = repeatable[pb.GetClusterMetricsRequest, pb.GetClusterMetricsResponse](ApplicationClient, "getClusterMetrics")
	GetApplications             = repeatable[pb.GetApplicationsRequest, pb.GetApplicationsResponse](ApplicationClient, "getApplications")
	GetClusterNodes             = repeatable[pb.GetClusterNodesRequest, pb.GetClusterNodesResponse](ApplicationClient, "getClusterNodes")
	GetQueueInfo                = repeatable[pb.GetQueueInfoRequest, pb.GetQueueInfoResponse](ApplicationClient, "getQueueInfo")
	GetQueueUserAcls            = repeatable[pb.GetQueueUserAclsInfoRequest, pb.GetQueueUserAclsInfoResponse](ApplicationClient, "getQueueUserAcls")
	GetDelegationToken          = repeatable[pb.GetDelegationTokenRequest, pb.GetDelegationTokenResponse](ApplicationClient, "getDelegationToken")
	RenewDelegationToken        = repeatable[pb.RenewDelegationTokenRequest, pb.RenewDelegationTokenResponse](ApplicationClient, "renewDelegationToken")
	CancelDelegationToken       = repeatable[pb.CancelDelegationTokenRequest, pb.CancelDelegationTokenResponse](ApplicationClient, "cancelDelegationToken")
	MoveApplicationAcrossQueues = repeatable[pb.MoveApplicationAcrossQueuesRequest, pb.MoveApplicationAcrossQueuesResponse](ApplicationClient, "moveApplicationAcrossQueues")
	GetApplicationAttemptReport = repeatable[pb.GetApplicationAttemptReportRequest, pb.GetApplicationAttemptReportResponse](ApplicationClient, "getApplicationAttemptReport")
	GetApplicationAttempts      = repeatable[pb.GetApplicationAttemptsRequest, pb.GetApplicationAttemptsResponse](ApplicationClient, "getApplicationAttempts")
	GetContainerReport          = repeatable[pb.GetContainerReportRequest, pb.GetContainerReportResponse](ApplicationClient, "getContainerReport")
	GetContainers               = repeatable[pb.GetContainersRequest, pb.GetContainersResponse](ApplicationClient, "getContainers")
	GetNewReservation           = repeatable[pb.GetNewReservationRequest, pb.GetNewReservationResponse](ApplicationClient, "getNewReservation")
	SubmitReservation           = repeatable[pb.ReservationSubmissionRequest, pb.ReservationSubmissionResponse](ApplicationClient, "submitReservation")
	UpdateReservation           = once[pb.ReservationUpdateRequest, pb.ReservationUpdateResponse](ApplicationClient, "updateReservation")
	DeleteReservation           = once[pb.ReservationDeleteRequest, pb.ReservationDeleteResponse](ApplicationClient, "deleteReservation")
	ListReservations            = repeatable[pb.ReservationListRequest, pb.ReservationListResponse](ApplicationClient, "listReservations")
	GetNodeToLabels             = repeatable[pb.GetNodesToLabelsRequest, pb.GetNodesToLabelsResponse](ApplicationClient, "getNodeToLabels")
	GetLabelsToNodes            = repeatable[pb.GetLabelsToNodesRequest, pb.GetLabelsToNodesResponse](ApplicationClient, "getLabelsToNodes")
	GetClusterNodeLabels        = repeatable[pb.GetClusterNodeLabelsRequest, pb.GetClusterNodeLabelsResponse](ApplicationClient, "getClusterNodeLabels")
	UpdateApplicationPriority   = repeatable[pb.UpdateApplicationPriorityRequest, pb.UpdateApplicationPriorityResponse](ApplicationClient, "updateApplicationPriority")
	SignalToContainer           = once[pb.SignalContainerRequest, pb.SignalContainerResponse](ApplicationClient, "signalToContainer")
	UpdateApplicationTimeouts   = repeatable[pb.UpdateApplicationTimeoutsRequest, pb.UpdateApplicationTimeoutsResponse](ApplicationClient, "updateApplicationTimeouts")
	GetResourceProfiles         = repeatable[pb.GetAllResourceProfilesRequest, pb.GetAllResourceProfilesResponse](ApplicationClient, "getResourceProfiles")
	GetResourceProfile          = repeatable[pb.GetResourceProfileRequest, pb.GetResourceProfileResponse](ApplicationClient, "getResourceProfile")
	GetResourceTypeInfo         = repeatable[pb.GetAllResourceTypeInfoRequest, pb.GetAllResourceTypeInfoResponse](ApplicationClient, "getResourceTypeInfo")
	GetClusterNodeAttributes    = repeatable[pb.GetClusterNodeAttributesRequest, pb.GetClusterNodeAttributesResponse](ApplicationClient, "getClusterNodeAttributes")
	GetAttributesToNodes        = repeatable[pb.GetAttributesToNodesRequest, pb.GetAttributesToNodesResponse](ApplicationClient, "getAttributesToNodes")
	GetNodesToAttributes        = repeatable[pb.GetNodesToAttributesRequest, pb.GetNodesToAttributesResponse](ApplicationClient, "getNodesToAttributes")
)

// Calls of clients to a timeline server (port 10200), which a ResourceManager answers as well: the same questions about applications that may have ended.
var (
	GetPastApplicationReport = repeatable[pb.GetApplicationReportRequest, pb.GetApplicationReportResponse](ApplicationHistory, "getApplicationReport")
	GetPastApplications      = repeatable[pb.GetApplicationsRequest, pb.GetApplicationsResponse](ApplicationHistory, "getApplications")
	GetPastAttemptReport     = repeatable[pb.GetApplicationAttemptReportRequest, pb.GetApplicationAttemptReportResponse](ApplicationHistory, "getApplicationAttemptReport")
	GetPastAttempts          = repeatable[pb.GetApplicationAttemptsRequest, pb.GetApplicationAttemptsResponse](ApplicationHistory, "getApplicationAttempts")
	GetPastContainerReport   = repeatable[pb.GetContainerReportRequest, pb.GetContainerReportResponse](ApplicationHistory, "getContainerReport")
	GetPastContainers        = repeatable[pb.GetContainersRequest, pb.GetContainersResponse](ApplicationHistory, "getContainers")
	GetHistoryToken          = repeatable[pb.GetDelegationTokenRequest, pb.GetDelegationTokenResponse](ApplicationHistory, "getDelegationToken")
	RenewHistoryToken        = repeatable[pb.RenewDelegationTokenRequest, pb.RenewDelegationTokenResponse](ApplicationHistory, "renewDelegationToken")
	CancelHistoryToken       = repeatable[pb.CancelDelegationTokenRequest, pb.CancelDelegationTokenResponse](ApplicationHistory, "cancelDelegationToken")
)

// Calls of ApplicationMasters to the ResourceManager (port 8030).
var (
	RegisterApplicationMaster = repeatable[pb.RegisterApplicationMasterRequest, pb.RegisterApplicationMasterResponse](ApplicationMaster, "registerApplicationMaster")
	FinishApplicationMaster   = repeatable[pb.FinishApplicationMasterRequest, pb.FinishApplicationMasterResponse](ApplicationMaster, "finishApplicationMaster")
	Allocate                  = repeatable[pb.AllocateRequest, pb.AllocateResponse](ApplicationMaster, "allocate")
)

// Calls of ApplicationMasters and the ResourceManager to a NodeManager.
var (
	StartContainers              = once[pb.StartContainersRequest, pb.StartContainersResponse](ContainerManagement, "startContainers")
	StopContainers               = repeatable[pb.StopContainersRequest, pb.StopContainersResponse](ContainerManagement, "stopContainers")
	GetContainerStatuses         = repeatable[pb.GetContainerStatusesRequest, pb.GetContainerStatusesResponse](ContainerManagement, "getContainerStatuses")
	IncreaseContainersResource   = once[pb.IncreaseContainersResourceRequest, pb.IncreaseContainersResourceResponse](ContainerManagement, "increaseContainersResource")
	UpdateContainer              = once[pb.ContainerUpdateRequest, pb.ContainerUpdateResponse](ContainerManagement, "updateContainer")
	SignalRunningContainer       = once[pb.SignalContainerRequest, pb.SignalContainerResponse](ContainerManagement, "signalToContainer")
	Localize                     = once[pb.ResourceLocalizationRequest, pb.ResourceLocalizationResponse](ContainerManagement, "localize")
	ReInitializeContainer        = once[pb.ReInitializeContainerRequest, pb.ReInitializeContainerResponse](ContainerManagement, "reInitializeContainer")
	RestartContainer             = once[pb.ContainerId, pb.RestartContainerResponse](ContainerManagement, "restartContainer")
	RollbackLastReInitialization = once[pb.ContainerId, pb.RollbackResponse](ContainerManagement, "rollbackLastReInitialization")
	CommitLastReInitialization   = once[pb.ContainerId, pb.CommitResponse](ContainerManagement, "commitLastReInitialization")
	GetLocalizationStatuses      = repeatable[pb.GetLocalizationStatusesRequest, pb.GetLocalizationStatusesResponse](ContainerManagement, "getLocalizationStatuses")
)

// Calls of NodeManagers to the ResourceManager (port 8031).
var (
	RegisterNodeManager   = repeatable[pb.RegisterNodeManagerRequest, pb.RegisterNodeManagerResponse](ResourceTracker, "registerNodeManager")
	NodeHeartbeat         = repeatable[pb.NodeHeartbeatRequest, pb.NodeHeartbeatResponse](ResourceTracker, "nodeHeartbeat")
	UnRegisterNodeManager = repeatable[pb.UnRegisterNodeManagerRequest, pb.UnRegisterNodeManagerResponse](ResourceTracker, "unRegisterNodeManager")
)

// Calls of administrators to the ResourceManager (port 8033).
var (
	RefreshQueues                       = repeatable[pb.RefreshQueuesRequest, pb.RefreshQueuesResponse](Administration, "refreshQueues")
	RefreshNodes                        = repeatable[pb.RefreshNodesRequest, pb.RefreshNodesResponse](Administration, "refreshNodes")
	RefreshSuperUserGroupsConfiguration = repeatable[pb.RefreshSuperUserGroupsConfigurationRequest, pb.RefreshSuperUserGroupsConfigurationResponse](Administration, "refreshSuperUserGroupsConfiguration")
	RefreshUserToGroupsMappings         = repeatable[pb.RefreshUserToGroupsMappingsRequest, pb.RefreshUserToGroupsMappingsResponse](Administration, "refreshUserToGroupsMappings")
	RefreshAdminAcls                    = repeatable[pb.RefreshAdminAclsRequest, pb.RefreshAdminAclsResponse](Administration, "refreshAdminAcls")
	RefreshServiceAcls                  = repeatable[pb.RefreshServiceAclsRequest, pb.RefreshServiceAclsResponse](Administration, "refreshServiceAcls")
	GetGroupsForUser                    = repeatable[pb.GetGroupsForUserRequest, pb.GetGroupsForUserResponse](Administration, "getGroupsForUser")
	UpdateNodeResource                  = repeatable[pb.UpdateNodeResourceRequest, pb.UpdateNodeResourceResponse](Administration, "updateNodeResource")
	RefreshNodesResources               = repeatable[pb.RefreshNodesResourcesRequest, pb.RefreshNodesResourcesResponse](Administration, "refreshNodesResources")
	AddToClusterNodeLabels              = repeatable[pb.AddToClusterNodeLabelsRequest, pb.AddToClusterNodeLabelsResponse](Administration, "addToClusterNodeLabels")
	RemoveFromClusterNodeLabels         = repeatable[pb.RemoveFromClusterNodeLabelsRequest, pb.RemoveFromClusterNodeLabelsResponse](Administration, "removeFromClusterNodeLabels")
	ReplaceLabelsOnNodes                = repeatable[pb.ReplaceLabelsOnNodeRequest, pb.ReplaceLabelsOnNodeResponse](Administration, "replaceLabelsOnNodes")
	CheckForDecommissioningNodes        = repeatable[pb.CheckForDecommissioningNodesRequest, pb.CheckForDecommissioningNodesResponse](Administration, "checkForDecommissioningNodes")
	RefreshClusterMaxPriority           = repeatable[pb.RefreshClusterMaxPriorityRequest, pb.RefreshClusterMaxPriorityResponse](Administration, "refreshClusterMaxPriority")
	MapAttributesToNodes                = repeatable[pb.NodesToAttributesMappingRequest, pb.NodesToAttributesMappingResponse](Administration, "mapAttributesToNodes")
	DeregisterSubCluster                = once[pb.DeregisterSubClusterRequest, pb.DeregisterSubClusterResponse](Administration, "deregisterSubCluster")
	SaveFederationQueuePolicy           = once[pb.SaveFederationQueuePolicyRequest, pb.SaveFederationQueuePolicyResponse](Administration, "saveFederationQueuePolicy")
	BatchSaveFederationQueuePolicies    = once[pb.BatchSaveFederationQueuePoliciesRequest, pb.BatchSaveFederationQueuePoliciesResponse](Administration, "batchSaveFederationQueuePolicies")
	ListFederationQueuePolicies         = repeatable[pb.QueryFederationQueuePoliciesRequest, pb.QueryFederationQueuePoliciesResponse](Administration, "listFederationQueuePolicies")
	DeleteFederationApplication         = once[pb.DeleteFederationApplicationRequest, pb.DeleteFederationApplicationResponse](Administration, "deleteFederationApplication")
	GetFederationSubClusters            = repeatable[pb.GetSubClustersRequest, pb.GetSubClustersResponse](Administration, "getFederationSubClusters")
	DeleteFederationPoliciesByQueues    = once[pb.DeleteFederationQueuePoliciesRequest, pb.DeleteFederationQueuePoliciesResponse](Administration, "deleteFederationPoliciesByQueues")
)

// Calls of failover controllers and administrators to one of several ResourceManagers (port 8033).
var (
	MonitorHealth        = repeatable[pb.MonitorHealthRequest, pb.MonitorHealthResponse](HAService, "monitorHealth")
	TransitionToActive   = repeatable[pb.TransitionToActiveRequest, pb.TransitionToActiveResponse](HAService, "transitionToActive")
	TransitionToStandby  = repeatable[pb.TransitionToStandbyRequest, pb.TransitionToStandbyResponse](HAService, "transitionToStandby")
	TransitionToObserver = repeatable[pb.TransitionToObserverRequest, pb.TransitionToObserverResponse](HAService, "transitionToObserver")
	GetServiceStatus     = repeatable[pb.GetServiceStatusRequest, pb.GetServiceStatusResponse](HAService, "getServiceStatus")
)

// Calls of a localizer process to its NodeManager (port 8040).
var (
	LocalizerHeartbeat = repeatable[pb.LocalizerStatus, pb.LocalizerHeartbeatResponse](Localization, "heartbeat")
)

// Calls of a collector of timeline version 2 to its NodeManager (port 8048).
var (
	ReportNewCollectorInfo      = repeatable[pb.ReportNewCollectorInfoRequest, pb.ReportNewCollectorInfoResponse](CollectorNodemanager, "reportNewCollectorInfo")
	GetTimelineCollectorContext = repeatable[pb.GetTimelineCollectorContextRequest, pb.GetTimelineCollectorContextResponse](CollectorNodemanager, "getTimelineCollectorContext")
)

// Calls of HDFS clients to the NameNode about names, attributes and places of files. Hadoop marks rename2 and delete
// @AtMostOnce. It recognizes a repeated call by the call id of the first one, and ipc.Client gives every try a new id.
var (
	GetBlockLocations = repeatable[pb.GetBlockLocationsRequest, pb.GetBlockLocationsResponse](HDFSClient, "getBlockLocations")
	GetFileInfo       = repeatable[pb.GetFileInfoRequest, pb.GetFileInfoResponse](HDFSClient, "getFileInfo")
	GetListing        = repeatable[pb.GetListingRequest, pb.GetListingResponse](HDFSClient, "getListing")
	Mkdirs            = repeatable[pb.MkdirsRequest, pb.MkdirsResponse](HDFSClient, "mkdirs")
	Rename2           = once[pb.Rename2Request, pb.Rename2Response](HDFSClient, "rename2")
	Delete            = once[pb.DeleteRequest, pb.DeleteResponse](HDFSClient, "delete")
	SetPermission     = repeatable[pb.SetPermissionRequest, pb.SetPermissionResponse](HDFSClient, "setPermission")
	SetOwner          = repeatable[pb.SetOwnerRequest, pb.SetOwnerResponse](HDFSClient, "setOwner")
	SetTimes          = repeatable[pb.SetTimesRequest, pb.SetTimesResponse](HDFSClient, "setTimes")

	AddCacheDirective    = once[pb.AddCacheDirectiveRequest, pb.AddCacheDirectiveResponse](HDFSClient, "addCacheDirective")
	ModifyCacheDirective = repeatable[pb.ModifyCacheDirectiveRequest, pb.ModifyCacheDirectiveResponse](HDFSClient, "modifyCacheDirective")
	RemoveCacheDirective = repeatable[pb.RemoveCacheDirectiveRequest, pb.RemoveCacheDirectiveResponse](HDFSClient, "removeCacheDirective")
	ListCacheDirectives  = repeatable[pb.ListCacheDirectivesRequest, pb.ListCacheDirectivesResponse](HDFSClient, "listCacheDirectives")

	GetServerDefaults    = repeatable[pb.GetServerDefaultsRequest, pb.GetServerDefaultsResponse](HDFSClient, "getServerDefaults")
	GetDataEncryptionKey = repeatable[pb.GetDataEncryptionKeyRequest, pb.GetDataEncryptionKeyResponse](HDFSClient, "getDataEncryptionKey")

	GetHDFSToken    = repeatable[pb.GetDelegationTokenRequest, pb.GetDelegationTokenResponse](HDFSClient, "getDelegationToken")
	RenewHDFSToken  = repeatable[pb.RenewDelegationTokenRequest, pb.RenewDelegationTokenResponse](HDFSClient, "renewDelegationToken")
	CancelHDFSToken = repeatable[pb.CancelDelegationTokenRequest, pb.CancelDelegationTokenResponse](HDFSClient, "cancelDelegationToken")
)

// Questions that any server answers about its protocols.
var (
	GetProtocolVersions  = repeatable[pb.GetProtocolVersionsRequest, pb.GetProtocolVersionsResponse](MetaInfo, "getProtocolVersions")
	GetProtocolSignature = repeatable[pb.GetProtocolSignatureRequest, pb.GetProtocolSignatureResponse](MetaInfo, "getProtocolSignature")
)

// Calls of Heddle's ResourceManager to Heddle's NodeManagers.
var (
	SuspendContainers = repeatable[pb.SuspendContainersRequest, pb.SuspendContainersResponse](ContainerControl, "suspendContainers")
	OrderContainers   = repeatable[pb.OrderContainersRequest, pb.OrderContainersResponse](ContainerControl, "orderContainers")
	ResumeContainers  = repeatable[pb.ResumeContainersRequest, pb.ResumeContainersResponse](ContainerControl, "resumeContainers")
)

// Calls to the leading ResourceManager (Heddle's own), ForceLeader to one that doesn't lead, on the port of ResourceManagerAdministrationProtocol.
var (
	TransferLeadership = once[pb.TransferLeadershipRequest, pb.TransferLeadershipResponse](LeaderControl, "transferLeadership")
	ForceLeader        = once[pb.ForceLeaderRequest, pb.ForceLeaderResponse](LeaderControl, "forceLeader")
	RemoveMember       = once[pb.RemoveMemberRequest, pb.RemoveMemberResponse](LeaderControl, "removeMember")
)
