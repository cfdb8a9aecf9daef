def getDeviceCount():
    return 1
