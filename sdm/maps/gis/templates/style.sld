<?xml version="1.0" encoding="UTF-8"?>
<StyledLayerDescriptor version="1.0.0" xmlns="http://www.opengis.net/sld" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/sld http://schemas.opengis.net/sld/1.0.0/StyledLayerDescriptor.xsd">
{# Colour maps have no types, which are an addition of some programs: between the whole numbers of categories there is
no cell, so a ramp shows them as they are. #}
  <NamedLayer>
    <Name>{{ style.title }}</Name>
    <UserStyle>
      <Title>{{ style.title }}</Title>
      <FeatureTypeStyle>
        <Rule>
          <RasterSymbolizer>
            <ChannelSelection>
{% set channels = ('RedChannel', 'GreenChannel', 'BlueChannel') if style.colours else ('GrayChannel',) %}
{% for name in channels %}
              <{{ name }}>
                <SourceChannelName>{{ loop.index }}</SourceChannelName>
              </{{ name }}>
{% endfor %}
            </ChannelSelection>
{% if style.breaks %}
            <ColorMap>
{% for one in style.breaks %}
              <ColorMapEntry color="{{ one.colour }}" quantity="{{ '%.9g' % one.value }}" label="{{ one.label }}" opacity="1" />
{% endfor %}
            </ColorMap>
{% endif %}
          </RasterSymbolizer>
        </Rule>
      </FeatureTypeStyle>
    </UserStyle>
  </NamedLayer>
</StyledLayerDescriptor>
