<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.28" styleCategories="Symbology" hasScaleBasedVisibilityFlag="0">
  <pipe>
{% if style.colours %}
    <rasterrenderer type="multibandcolor" redBand="1" greenBand="2" blueBand="3" opacity="1" alphaBand="4" nodataColor="" />
{% elif style.categories %}
    <rasterrenderer type="paletted" band="1" opacity="1" alphaBand="-1" nodataColor="">
      <rasterTransparency />
      <colorPalette>
{% for one in style.breaks %}
        <paletteEntry value="{{ '%g' % one.value }}" label="{{ one.label }}" color="{{ one.colour }}" alpha="255" />
{% endfor %}
      </colorPalette>
    </rasterrenderer>
{% else %}
{% set low, high = '%.9g' % style.breaks[0].value, '%.9g' % style.breaks[-1].value %}
    <rasterrenderer type="singlebandpseudocolor" band="1" classificationMin="{{ low }}" classificationMax="{{ high }}" opacity="1" alphaBand="-1" nodataColor="">
      <rasterTransparency />
      <rastershader>
        <colorrampshader colorRampType="INTERPOLATED" classificationMode="1" clip="0" labelPrecision="6" minimumValue="{{ low }}" maximumValue="{{ high }}">
{% for one in style.breaks %}
          <item value="{{ '%.9g' % one.value }}" label="{{ one.label }}" color="{{ one.colour }}" alpha="255" />
{% endfor %}
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
{% endif %}
  </pipe>
</qgis>
